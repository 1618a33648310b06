"""TTFT by prompt length and ITL by context length: measured, estimated, and the error between them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.estimate import PrefillTerms, prefill_terms
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import percent, seconds
from inference.machine.sweep_jobs import context_job, prompt_job
from inference.machine.sweeps import Sweep, SweepPoint
from pages.charts.latency.by_length import itl_chart, ttft_chart
from pages.ui import state
from pages.ui.parts.controls import Controls
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import measured, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

TTFT, ITL = "TTFT by prompt length", "ITL by context length"
_TIMES = Bins(((1.8, "less than 1.8 times"), (2.2, "1.8 to 2.2 times")), "more than 2.2 times")
PREDICTION = Prediction(
    "twice-the-prompt",
    "The prompt gets twice as long, from 512 to 1,024 tokens. How much longer does its prefill take?",
    _TIMES.options,
)


@dataclass(frozen=True, slots=True)
class TtftItlSettings:
    shown: str = TTFT


_DEFAULT = TtftItlSettings()


def ttft_itl(settings: TtftItlSettings = _DEFAULT, *, key: str = "ttft-itl", is_fixed: bool = False) -> None:
    """The time of a prefill or of a decode step against its length, under the estimate made of measured rates."""
    shown = Controls(key, is_fixed=is_fixed).choice("Shown", (TTFT, ITL), settings.shown, is_label_shown=False)
    job, label = (prompt_job(), "Measure prefill") if shown == TTFT else (context_job(), "Measure decode")
    sweep = run_job(job, key=f"{key}-{'prompts' if shown == TTFT else 'contexts'}", label=label)
    ceilings = state.laboratory().ceilings
    points = sweep.points if sweep else ()
    rows = _compared(sweep, ceilings)
    with framed(f"{key}-chart"):
        if shown == TTFT:
            _ttft(sweep, points, ceilings, rows, key)
        else:
            _itl(points, rows, key)
    st.text(_sentence(rows, ceilings))


Compared = list[tuple[SweepPoint, float]]
"""Each point with the estimated seconds of its pass."""


def _compared(sweep: Sweep | None, ceilings: Ceilings | None) -> Compared:
    if sweep is None or ceilings is None:
        return []
    return [(point, point.setting.estimate(sweep.spec, ceilings).total_s) for point in sweep.points]


def _ttft(
    sweep: Sweep | None, points: Sequence[SweepPoint], ceilings: Ceilings | None, rows: Compared, key: str
) -> None:
    terms: list[tuple[int, PrefillTerms]] = []
    if sweep and ceilings:
        lengths = [point.setting.num_query_tokens for point in points]
        terms = [(length, prefill_terms(sweep.spec, ceilings, length)) for length in lengths]
    live_chart(
        lambda: ttft_chart(points, terms),
        version=(points, ceilings),
        key=f"{key}-ttft",
        title="Prefill by prompt length",
        caption="squares: measured medians, quartiles; dashed: estimated, in three terms and their sum",
        alt="Measured prefill time against prompt length on logarithmic axes: flat at first, then rising, with the "
        "estimate's three terms under it.",
        table=lambda: _table(rows, "prompt tokens"),
    )


def _itl(points: Sequence[SweepPoint], rows: Compared, key: str) -> None:
    line = [(point.setting.context_len, expected_s) for point, expected_s in rows]
    live_chart(
        lambda: itl_chart(points, line),
        version=(points, line),
        key=f"{key}-itl",
        title="Decode step by context length",
        caption="circles: measured medians, quartiles; dashed: estimated. The axis starts at zero",
        alt="Measured time of a decode step against the tokens in the cache: almost flat, rising slowly.",
        table=lambda: _table(rows, "tokens in the cache"),
    )


def _table(rows: Compared, length: str) -> Table:
    columns = [length, "median", "quartiles", "estimated", "error", "every repeat", "warm-up, left out"]
    return Table(
        columns,
        [
            [
                f"{point.setting.context_len:,}",
                seconds(point.median_s),
                f"{seconds(point.lower_s)} to {seconds(point.upper_s)}",
                seconds(expected_s),
                _signed(point.median_s / expected_s - 1),
                ", ".join(seconds(time_s) for time_s in point.times_s),
                ", ".join(seconds(time_s) for time_s in point.warm_up_s),
            ]
            for point, expected_s in rows
        ],
    )


def _signed(share: float) -> str:
    return ("+" if share >= 0 else "−") + percent(abs(share))


def _sentence(rows: Compared, ceilings: Ceilings | None) -> str:
    if ceilings is None:
        return "The estimate needs this machine's roofs, which are not measured yet."
    if not rows:
        return (
            "The estimate is made of rates measured on this machine; measure the passes to see how far off it is."
        )
    errors = [(abs(point.median_s / expected_s - 1), point) for point, expected_s in rows]
    worst, where = max(errors, key=lambda error: error[0])
    median = statistics.median(error for error, _ in errors)
    return (
        f"Measured against estimated: the median error is {percent(median)}, "
        f"the worst {percent(worst)} (length {where.setting.context_len:,}). Warm-up passes are left out."
    )


def outcome() -> Outcome | None:
    """How much longer 1,024 tokens take than 512, from the sweep; None before it was measured."""
    sweep = measured(prompt_job())
    medians = {point.setting.num_query_tokens: point.median_s for point in sweep.points} if sweep else {}
    if not {512, 1024} <= medians.keys():
        return None
    ratio = medians[1024] / medians[512]
    return Outcome(
        _TIMES.name_of(ratio),
        f"Measured: {seconds(medians[512])} and {seconds(medians[1024])}, {ratio:.3g} times. "
        "Short prompts pay a floor that does not grow, long ones an attention term that grows faster.",
    )
