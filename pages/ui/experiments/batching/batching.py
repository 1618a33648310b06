"""The same requests served in static groups and continuously: lanes, what each pass carried, and the sum of it."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import significant
from inference.batching.presets import MIXED, PRESETS, SLOTS, TOKENS_PER_PASS, batching_job
from inference.batching.records import MOST_SLOTS, MOST_TOKENS_PER_PASS, PAGE, Arrival, BatchingComparison
from inference.batching.request_list import read, written
from pages.charts.batching.lanes import blocks_chart, lanes_chart, tokens_chart
from pages.ui.experiments.batching.text import explanation, passes_table, requests_table, totals
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import chart_card
from pages.ui.parts.measurement import finished, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_GAINS = Bins(((1.2, "under 1.2 times"), (1.5, "1.2 to 1.5 times"), (2.0, "1.5 to 2 times")), "over 2 times")
_OUTPUTS = [arrival.output_tokens for arrival in PRESETS[MIXED]]
PREDICTION = Prediction(
    "batching",
    f"{len(_OUTPUTS)} requests of {min(_OUTPUTS)} to {max(_OUTPUTS)} output tokens share {SLOTS} slots. Static "
    "batching waits for the longest of each group. How many times its tokens per second does continuous batching "
    "give, which fills a slot as soon as it falls free?",
    _GAINS.options,
)
_TOKEN_LIMITS = (32, 64, 128, 256, 512, 1024, MOST_TOKENS_PER_PASS)


@dataclass(frozen=True, slots=True)
class BatchingSettings:
    preset: str = MIXED
    """One of PRESETS."""
    slots: int = SLOTS
    """Requests at once."""
    tokens_per_pass: int = TOKENS_PER_PASS


_DEFAULT = BatchingSettings()


def batching(settings: BatchingSettings = _DEFAULT, *, key: str = "batching", is_fixed: bool = False) -> None:
    """Lanes of both ways over the same seconds; under them tokens and blocks per pass, and a table of totals."""
    controls = Controls(key, is_fixed=is_fixed)
    measuring, drawing = st.container(key=f"{key}-run"), st.container()
    with row(key):
        preset = controls.select("Requests", list(PRESETS), settings.preset, width=290)
        slots = controls.number("Requests at once", settings.slots, 1, MOST_SLOTS)
        limit = controls.steps("Tokens per pass", _TOKEN_LIMITS, settings.tokens_per_pass)
    comparison: BatchingComparison | None = None
    try:
        arrivals = PRESETS[preset] if is_fixed else _edited(preset, key)
        job = batching_job(arrivals, slots=slots, tokens_per_pass=limit)
    except ValueError as problem:
        with measuring, st.container(key=f"{key}-problem"):
            st.text(str(problem))
    else:
        with measuring:
            comparison = run_job(job, key=key, label="Serve both ways")
    with drawing:
        _main(comparison, key)
    _details(comparison, key)


def _edited(preset: str, key: str) -> tuple[Arrival, ...]:
    """The preset's requests as the learner left them; each preset has its own text."""
    with st.expander("Edit the requests"):
        text = Controls(f"{key}-{preset}", is_fixed=False).text(
            "One request a line: before which pass it arrives (the first is 0), prompt tokens, output tokens",
            written(PRESETS[preset]),
            max_chars=4_000,
            height=220,
        )
    return read(text)


def _main(comparison: BatchingComparison | None, key: str) -> None:
    arms = comparison.arms if comparison else ()
    chart_card(
        lambda: lanes_chart(arms),
        version=arms,
        key=f"{key}-lanes",
        title="A lane for each request",
        caption="thin grey: waits for a slot; tall: prefill; lower: decode; mark at the end: done. One clock "
        "for both, of measured passes",
        alt="For each request a bar over time: waiting, prefill and decode; static batching in the upper "
        "panel, continuous batching in the lower one.",
        table=lambda: requests_table(arms),
    )
    with st.container(key=f"{key}-words"):
        st.text(explanation(comparison) if comparison and comparison.is_done else _UNMEASURED)


def _details(comparison: BatchingComparison | None, key: str) -> None:
    arms = comparison.arms if comparison else ()
    table_card(totals(arms), key=f"{key}-totals", title="In all", caption=_GAIN)
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: tokens_chart(arms),
            version=arms,
            key=f"{key}-tokens",
            title="Tokens in each pass",
            caption="squares: prompt tokens; circles: decode tokens; the axis grows by factors",
            alt="Prompt and decode tokens of every pass over time, static above, continuous below.",
            table=lambda: passes_table(arms),
        )
    with right:
        chart_card(
            lambda: blocks_chart(arms),
            version=arms,
            key=f"{key}-blocks",
            title="Cache blocks in use",
            caption=f"counted in the paged cache during each pass; a block holds {PAGE} tokens",
            alt="Cache blocks in use over time, static above, continuous below.",
            table=lambda: passes_table(arms),
        )


_UNMEASURED = (
    "Both ways run on the same engine with the same limits, a pass of each in turn. Watch where static lanes end: "
    "nobody new comes in before the longest of the group is through."
)


_GAIN = "Gain: how many times better continuous is than static, for each measure; under 1 it is worse."


def outcome() -> Outcome | None:
    """What the default run found; None before it."""
    comparison = finished(batching_job())
    if comparison is None:
        return None
    static, continuous = comparison.arms
    times = continuous.tokens_per_s / static.tokens_per_s
    passes = len(static.passes) / len(continuous.passes)
    return Outcome(
        _GAINS.name_of(times),
        f"Measured: {significant(times)} times, for {significant(passes)} times fewer passes.",
    )
