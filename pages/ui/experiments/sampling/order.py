"""Temperature before the cuts or after them: which tokens only one order keeps."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import percent, significant
from inference.run.params import SamplingParams
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import EXAMPLE_LOGITS, EXAMPLE_PARAMS, OrderView
from pages.charts.sampling.curves import order_curve
from pages.charts.tokens import visible
from pages.ui import state
from pages.ui.experiments.sampling.sampler import FIRST, LAST, SamplerSettings, next_token, sampler
from pages.ui.parts.controls import Controls
from pages.ui.parts.data_table import data_table, table_card
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart


@dataclass(frozen=True, slots=True)
class OrderSettings(SamplerSettings):
    pass


_DEFAULT = OrderSettings()


def order(settings: OrderSettings = _DEFAULT, *, key: str = "order", is_fixed: bool = False) -> None:
    """Both orders over the real distribution, and beside it three tokens to follow by hand."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = st.container()
    asked = sampler(controls, settings, key, has_order=False)
    below = st.container()
    with drawing:
        prediction = next_token(asked.job, key=key)
    view = (
        state.remembered(f"{key}-orders", asked.version, lambda: _view(prediction, asked.params))
        if prediction
        else None
    )
    with drawing:
        left, right = st.columns([5, 4])
        with left, framed(f"{key}-orders"):
            live_chart(
                lambda: order_curve(view),
                version=(asked.version, view is None),
                key=f"{key}-orders-chart",
                title="What is drawn from in each order",
                caption="thin: temperature first; wide and faint: temperature last",
                alt="Probability against rank, with temperature before the cuts and after them.",
                table=lambda: sets_table(view),
            )
        with right, framed(f"{key}-example"):
            _example(key)
        with right, st.container(key=f"{key}-told"):
            st.text(" ".join(asked.problems) or (words(view, asked.params) if view else " "))
    with below:
        table_card(
            sets_table(view),
            key=f"{key}-only",
            title="Tokens that only one order keeps",
            caption="the model's best of them; its own probability, and the one under the order that keeps it",
        )


def _view(prediction: NextToken, params: SamplingParams) -> OrderView:
    from inference.sampling_lab.views import order_view  # noqa: PLC0415  # torch, long loaded by now

    return order_view(prediction, params)


def _example(key: str) -> None:
    """Three logits, worked out by the same code."""
    ready = state.laboratory().engine is not None
    logits = ", ".join(f"{logit:g}" for logit in EXAMPLE_LOGITS)
    temperature, top_p = EXAMPLE_PARAMS.temperature, EXAMPLE_PARAMS.top_p
    data_table(
        state.remembered(f"{key}-example", ready, lambda: example_table() if ready else Table([], [])),
        key=f"{key}-example",
        title=f"By hand: logits {logits}, temperature {temperature:g}, top-p {top_p:g}",
        caption="what top-p adds up until it reaches its share, and what it keeps",
    )


def example_table() -> Table:
    from inference.sampling_lab.views import worked_example  # noqa: PLC0415  # torch

    view = worked_example()
    sharpened, model = view.first.stage("temperature"), view.last.stage("model")
    rows = []
    for place, logit in enumerate(EXAMPLE_LOGITS):
        cells = [visible(model.top[place].raw), f"{logit:g}"]
        for seen, chain in ((sharpened, view.first), (model, view.last)):
            kept = {share.token_id for share in chain.stage("top-p").top if share.is_kept}
            share = seen.top[place]
            cells += [percent(share.probability), "kept" if share.token_id in kept else "cut"]
        rows.append(cells)
    return Table(["token", "logit", f"temperature {FIRST}", "", f"temperature {LAST}", ""], rows)


def sets_table(view: OrderView | None) -> Table:
    columns = ["token", "rank", "model", "temperature", "in that order"]
    rows = []
    for name, shares in ((FIRST, view.only_first), (LAST, view.only_last)) if view else ():
        for share in shares:
            rows.append(
                [visible(share.raw), f"{share.rank:,}", percent(share.model), name, percent(share.probability)]
            )
    return Table(columns, rows)


def words(view: OrderView, params: SamplingParams) -> str:
    """Which order keeps more, and why."""
    first, last = view.first.last, view.last.last
    sentence = (
        f"Temperature first keeps {first.num_kept:,} tokens, {percent(first.kept_mass)} of the model's "
        f"probability; temperature last {last.num_kept:,}, {percent(last.kept_mass)}. "
    )
    if not view.num_only_first and not view.num_only_last:
        return f"{sentence}The sets are the same here: {_why_same(params)}."
    only, name, kind = (
        (view.num_only_last, LAST, "sharper") if view.num_only_last else (view.num_only_first, FIRST, "flatter")
    )
    return (
        f"{sentence}Only temperature {name} keeps {only:,} of them: at {significant(params.temperature, 2)} the "
        f"distribution that the cuts see is {kind} when temperature comes first. transformers puts it first, "
        "llama.cpp last."
    )


def _why_same(params: SamplingParams) -> str:
    if params.is_greedy:
        return "greedy decoding cuts nothing and takes the best token"
    if params.temperature == 1:
        return "a temperature of 1 changes nothing"
    if params.top_p == 1 and not params.min_p:
        return "top-k counts tokens, and temperature does not change their order"
    return "the cuts fall at the same token in both orders"
