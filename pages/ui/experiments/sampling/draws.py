"""Many seeded draws of one next token, counted against the distribution they come from."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import significant
from inference.run.params import SamplingParams
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import Draws
from pages.charts.sampling.bars import bin_name, draw_counts
from pages.ui import state
from pages.ui.experiments.sampling.sampler import SamplerSettings, next_token, sampler
from pages.ui.parts.card import Card, Figure, text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card

NUM_DRAWS = (100, 1_000, 10_000)
SETTINGS, MODEL_ALONE = "these settings", "the model alone"


@dataclass(frozen=True, slots=True)
class DrawsSettings(SamplerSettings):
    num_draws: int = 1_000
    expected_from: str = SETTINGS
    """"these settings", which the draws come from, or "the model alone"."""


_DEFAULT = DrawsSettings()


def draws(settings: DrawsSettings = _DEFAULT, *, key: str = "draws", is_fixed: bool = False) -> None:
    """Counts and what was expected, the test beside them, the settings under them."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = st.container()
    with row(f"{key}-draws"):
        num_draws = controls.choice(
            "Draws", NUM_DRAWS, settings.num_draws, format_func=lambda number: f"{number:,}"
        )
        expected_from = controls.choice("Expected from", (SETTINGS, MODEL_ALONE), settings.expected_from)
    asked = sampler(controls, settings, key)
    with drawing:
        prediction = next_token(asked.job, key=key)
    version = (asked.version, num_draws, expected_from)
    is_against_model = expected_from == MODEL_ALONE
    view = (
        state.remembered(
            f"{key}-draws", version, lambda: _draws(prediction, asked.params, num_draws, is_against_model)
        )
        if prediction
        else None
    )
    with drawing:
        left, right = st.columns([5, 2])
        with left:
            chart_card(
                lambda: draw_counts(view),
                version=(version, view is None),
                key=f"{key}-counts",
                title=f"{num_draws:,} draws with seed {asked.params.seed}",
                caption="bar: times drawn; mark: times expected, with two standard errors to either side",
                alt="Bars of how often each token was drawn, with the expected count marked.",
                table=lambda: counts_table(view),
            )
        with right:
            text_card(verdict_card(view), key=f"{key}-test")
    with st.container(key=f"{key}-problem"):
        st.text(" ".join(asked.problems) or " ")


def _draws(prediction: NextToken, params: SamplingParams, num_draws: int, is_against_model: bool) -> Draws:
    from inference.sampling_lab.draws import draw_many  # noqa: PLC0415  # torch, long loaded by now

    return draw_many(prediction, params, num_draws, is_against_model=is_against_model)


def counts_table(view: Draws | None) -> Table:
    rows = [
        [bin_name(drawn), f"{drawn.count:,}", significant(drawn.expected), f"{drawn.num_tokens:,}"]
        for drawn in (view.bins if view else ())
    ]
    return Table(["token", "drawn", "expected", "tokens in the bin"], rows)


def verdict_card(view: Draws | None) -> Card:
    """Pearson's test in three numbers and one sentence."""
    if view is None:
        return Card(kicker="Chi-square test", height=_HEIGHT)
    if view.test is None:
        return Card(
            kicker="Chi-square test",
            note="It needs two bins that are expected five times or more each; here there are none to compare.",
            height=_HEIGHT,
        )
    test = view.test
    return Card(
        kicker="Chi-square test",
        figures=(
            Figure(significant(test.statistic), "chi-square: the squared misses, each over its expected count"),
            Figure(f"{test.degrees:,}", f"degrees of freedom: {len(view.bins):,} bins, one fixed by the sum"),
            Figure(p_words(test.p), "p-value"),
        ),
        sentence=verdict(test.p),
        height=_HEIGHT,
    )


_HEIGHT = 190


def p_words(p: float) -> str:
    return significant(p) if p >= 1e-3 else "under 0.001"


def verdict(p: float) -> str:
    if p < 1e-3:
        return (
            "Draws from the expected distribution would miss by this much less than once in a thousand seeds: "
            "these come from another one."
        )
    often = (
        f"Draws from the expected distribution miss by this much or more with {significant(p * 100, 2)} % of seeds"
    )
    return f"{often}: no reason to doubt them." if p >= 0.05 else f"{often}: rare, but it happens. Try other seeds."
