"""Sampled speculation leaves the distribution unchanged: one token drawn many times against the model's chances."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import percent
from inference.sampling_lab.records import Drawn, Draws
from inference.speculation.draft import LOOK_UP, draft_name
from inference.speculation.draw_records import SampledDraws
from inference.speculation.sampled import draws_job
from pages.charts.sampling.bars import draw_counts
from pages.ui import state
from pages.ui.experiments.sampling.draws import counts_table, verdict_card
from pages.ui.experiments.speculation.strip import token_text
from pages.ui.parts.card import text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import chart_card
from pages.ui.parts.measurement import run_job

_NUM_DRAWS = (500, 2_000, 10_000)
RARE = 1e-3  # as often as this honest draws miss by so much
PUBLISHED, MISTAKE = "what the draft left over", "the model's chances again"


@dataclass(frozen=True, slots=True)
class SpeculationDrawsSettings:
    preset: str = "random"
    temperature: float = 1.0
    num_draws: int = 2_000
    replaced_from: str = PUBLISHED
    """Where a rejected draft's replacement comes from: as published, or the common mistake."""
    seed: int = 0
    draft: str = LOOK_UP


_DEFAULT = SpeculationDrawsSettings()


def speculation_draws(
    settings: SpeculationDrawsSettings = _DEFAULT, *, key: str = "specdraws", is_fixed: bool = False
) -> None:
    """Counts beside what the model promises, and the test of their difference."""
    controls = Controls(key, is_fixed=is_fixed)
    running, drawing = st.container(), st.container()
    with row(key):
        replaced_from = controls.choice("Rejected: draw from", (PUBLISHED, MISTAKE), settings.replaced_from)
        num_draws = controls.choice("Draws", _NUM_DRAWS, settings.num_draws, format_func=lambda count: f"{count:,}")
        temperature = controls.slider("Temperature", settings.temperature, 0.1, 1.5, 0.1, width=170)
        seed = controls.number("Seed", settings.seed, 0, 2**31 - 1, width=110)
        small = draft_name()
        draft = controls.choice("Draft", (LOOK_UP, small), settings.draft) if small else LOOK_UP
    job = draws_job(
        settings.preset,
        temperature,
        num_draws=num_draws,
        is_mistaken=replaced_from == MISTAKE,
        draft=draft or LOOK_UP,
        seed=seed,
    )
    with running:
        run = run_job(job, key=key, label="Draw")
    view = as_draws(run) if run else None
    with drawing:
        left, right = st.columns([5, 2])
        with left:
            chart_card(
                lambda: draw_counts(view),
                version=(job.name, run),
                key=f"{key}-counts",
                title="One token of a round, drawn many times",
                caption="bar: times it came out; mark: times the model alone would draw it, ± two standard errors",
                alt="Bars of how often each token came out of speculation, with the expected count marked.",
                table=lambda: counts_table(view),
            )
        with right:
            text_card(verdict_card(view), key=f"{key}-test")
        with st.container(key=f"{key}-words"):
            st.text(words(run) if run else _UNMEASURED)


_UNMEASURED = (
    "A draft x stands with chance min(1, p(x) / q(x)), p being the model's chance and q the draft's. In place of a "
    "rejected one comes a token drawn from what p holds beyond q. Together that is exactly p, whatever q was."
)


def as_draws(run: SampledDraws) -> Draws:
    """In the sampling lab's own terms."""
    engine = state.laboratory().engine
    bins = tuple(
        Drawn(
            engine.token_bytes[token_bin.token_id] if engine and token_bin.token_id is not None else None,
            token_bin.num_tokens,
            token_bin.count,
            token_bin.expected,
        )
        for token_bin in run.bins
    )
    return Draws(run.num_draws, bins, run.test)


def words(run: SampledDraws) -> str:
    """What was drafted, how often it stood, and what that did to the distribution."""
    what = f"the draft is {token_text(run.drafted_id)}" if run.drafted_id is not None else "a token is drafted anew"
    stood = (
        f"Behind …{run.context[-24:]!r} {what} each time. It stood in {percent(run.num_accepted / run.num_draws)} "
        f"of {run.num_draws:,} draws; the sum of min(p, q) says {percent(run.expected_acceptance)}, computed."
    )
    if run.is_mistaken:
        return (
            f"{stood} Drawing the replacement from p again gives the drafted token a second chance: in the long "
            f"run it comes out too often, and the text is no longer the model's. {_told_apart(run)}"
        )
    return (
        f"{stood} What was rejected is made up for by what p holds beyond q, so in the long run the counts are the "
        "model's own: sampling with speculation costs no quality, only the text for a given seed is another. "
        f"{_told_apart(run)}"
    )


def _told_apart(run: SampledDraws) -> str:
    """Whether these draws show it: chance may hide a mistake, and now and then it makes up one."""
    if run.test is None:
        return "Nearly all the chance is one token's here, so these draws cannot show it."
    is_seen = run.test.p < RARE
    if run.is_mistaken:
        return "These draws show it." if is_seen else "These draws are too few to show it."
    return (
        "These draws miss them by more than chance explains: try another seed." if is_seen else "These draws agree."
    )
