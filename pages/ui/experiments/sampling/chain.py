"""The sampler's chain stage by stage, on the full vocabulary: what each keeps of the model's distribution."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import percent, significant
from inference.run.params import SamplingParams
from inference.sampling_lab.next_token import NextToken, prompt_job
from inference.sampling_lab.records import MODEL, TOP_TEN, ChainView, StageView
from pages.charts.sampling.bars import top_tokens
from pages.charts.sampling.curves import rank_curve
from pages.charts.tokens import visible
from pages.ui import state
from pages.ui.experiments.sampling.sampler import SamplerSettings, next_token, sampler
from pages.ui.parts.controls import Controls
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import at_once
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_PREDICTED_PROMPT, _PREDICTED_TOP_P = SamplerSettings().prompt, 0.9
_COUNTS = Bins(((10, "fewer than 10"), (101, "10 to 100"), (1_001, "100 to 1,000")), "over 1,000")
PREDICTION = Prediction(
    "sampling-top-p",
    f"After “{_PREDICTED_PROMPT}”, how many tokens of the model's whole vocabulary does top-p "
    f"{_PREDICTED_TOP_P:g} keep?",
    _COUNTS.options,
)


@dataclass(frozen=True, slots=True)
class ChainSettings(SamplerSettings):
    shown: str = "top-p"
    """The stage whose distribution is drawn: "model", a stage, or "renormalised top-10"."""


_DEFAULT = ChainSettings()


def chain(settings: ChainSettings = _DEFAULT, *, key: str = "chain", is_fixed: bool = False) -> None:
    """The curve beside the stages; the settings under them; then the best tokens, before and after."""
    controls = Controls(key, is_fixed=is_fixed)
    choosing, drawing = st.container(key=f"{key}-stages"), st.container()
    asked = sampler(controls, settings, key)
    below = st.container()
    with choosing:
        names = [MODEL, *asked.params.order, TOP_TEN]
        shown = controls.choice("Distribution after", names, settings.shown)
        prediction = next_token(asked.job, key=key)
    view = (
        state.remembered(f"{key}-view", asked.version, lambda: _view(prediction, asked.params))
        if prediction
        else None
    )
    with drawing:
        left, right = st.columns([5, 4])
        with left:
            _curve(view, shown, asked.version, key)
        with right:
            table_card(
                stage_table(view),
                key=f"{key}-table",
                title="What each stage keeps",
                caption="of the model's own distribution, over the full vocabulary",
                marked=tuple((row_of(view, shown), column) for column in range(4)) if view else (),
            )
    with below:
        with st.container(key=f"{key}-words"):
            st.text(" ".join(asked.problems) or (words(view) if view else " "))
        _top(view, shown, asked.version, key)


def _view(prediction: NextToken, params: SamplingParams) -> ChainView:
    from inference.sampling_lab.views import chain_view  # noqa: PLC0415  # torch, long loaded by now

    return chain_view(prediction, params)


def _curve(view: ChainView | None, shown: str, version: object, key: str) -> None:
    size = f"all {view.vocab_size:,} tokens" if view else "the whole vocabulary"
    chart_card(
        lambda: rank_curve(view, shown),
        version=(version, shown, view is None),
        key=f"{key}-curve",
        title="Probability of the next token",
        caption=f"{size}, both axes logarithmic; the thick line ends where tokens are cut",
        alt="Probability against rank: the model's own distribution, and what is left after the stage chosen.",
        table=lambda: _curve_table(view, shown),
    )


def _top(view: ChainView | None, shown: str, version: object, key: str) -> None:
    stage = view.stage(shown) if view else None
    chart_card(
        lambda: top_tokens(stage),
        version=(version, shown, view is None),
        key=f"{key}-top",
        title="The best tokens" if shown == MODEL else f"The best tokens, model and {shown}",
        caption="wide: the model's probability over the full vocabulary; narrow: under the distribution chosen",
        alt="Bars of the ten most probable tokens: the model's probability and the chosen distribution's.",
        table=lambda: top_table(stage),
    )


def row_of(view: ChainView, shown: str) -> int:
    names = [*(stage.name for stage in view.stages), TOP_TEN]
    return names.index(shown)


def stage_table(view: ChainView | None) -> Table:
    columns = ["stage", "tokens kept", "mass kept", "entropy"]
    if view is None:
        return Table(columns, [])
    return Table(columns, [_line(stage) for stage in (*view.stages, view.top_ten)])


def _line(stage: StageView) -> list[str]:
    if not stage.is_on:
        return [stage.name, "off", "", ""]
    bits = f"{significant(stage.entropy_bits)} bits"
    return [stage.name, f"{stage.num_kept:,}", percent(stage.kept_mass), bits]


def words(view: ChainView) -> str:
    """What the seed draws, and what a chart of ten would have said of the best token."""
    drawn, best = view.drawn, view.top_ten.top[0]
    return (
        f"This seed draws {visible(drawn.raw)}, rank {drawn.rank:,} of the model's {view.vocab_size:,} tokens. "
        "A chart of only the ten best tokens that makes them sum to 100 % would claim "
        f"{percent(best.probability)} for {visible(best.raw)}; the model gives it {percent(best.model)}."
    )


def _curve_table(view: ChainView | None, shown: str) -> Table:
    columns = ["rank", MODEL, shown]
    if view is None:
        return Table(columns, [])
    curves = zip(view.ranks, view.stage(MODEL).curve, view.stage(shown).curve, strict=True)
    return Table(columns, [[f"{rank:,}", percent(model), _share(after)] for rank, model, after in curves])


def top_table(stage: StageView | None) -> Table:
    columns = ["token", "id", "rank", MODEL, stage.name if stage else ""]
    rows = [
        [visible(row.raw), str(row.token_id), f"{row.rank:,}", percent(row.model), _share(row.probability)]
        for row in (stage.top if stage else ())
    ]
    return Table(columns, rows)


def _share(probability: float) -> str:
    return percent(probability) if probability else "cut"


def outcome() -> Outcome | None:
    """What top-p keeps of the predicted distribution, at temperature 1; None while the model loads."""
    prediction = at_once(prompt_job(_PREDICTED_PROMPT))
    if prediction is None:
        return None
    params = SamplingParams(temperature=1.0, top_p=_PREDICTED_TOP_P)
    view = state.remembered("sampling-outcome", True, lambda: _view(prediction, params))
    return verdict(view)


def verdict(view: ChainView) -> Outcome:
    num_kept = view.last.num_kept
    return Outcome(
        _COUNTS.name_of(num_kept),
        f"{num_kept:,} of {view.vocab_size:,} tokens, computed from the model's own distribution at temperature 1.",
    )
