"""The planner against this machine's own sweeps, for the running model."""

import streamlit as st

from inference.arithmetic.units import percent, seconds
from inference.machine.sweep_jobs import context_job, prompt_job
from inference.planner.own.machine import OwnPoint, held_against, median_error
from inference.trace import Phase
from pages.ui import state
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table
from pages.ui.parts.measurement import run_job

_PHASES: tuple[Phase, ...] = ("prefill", "decode")


def sweeps_view() -> None:
    """One line per sweep; the second is asked for once the first is there. Nothing is fitted to either."""
    lab = state.laboratory()
    sweeps = []
    for name, job, label in (
        ("Prefill by prompt length", prompt_job(), "Measure prefill"),
        ("Decode step by context length", context_job(), "Measure decode"),
    ):
        st.caption(f"{name}, the running model on this machine")
        sweep = run_job(job, key=f"planner-{job.name.split(' ')[0]}-sweep", label=label)
        if sweep is None:
            break
        sweeps.append(sweep)
    if lab.ceilings is None or lab.engine is None or not sweeps:
        return
    is_overlapped = not lab.engine.is_on_cpu
    points = [
        point
        for sweep in sweeps
        for point in held_against(sweep.spec, lab.ceilings, sweep.points, is_overlapped=is_overlapped)
    ]
    table_card(
        _table(points),
        key="planner-sweeps",
        title=f"This machine's own sweeps: {lab.engine.spec.name}",
        caption=_caption(points),
    )


def _caption(points: list[OwnPoint]) -> str:
    known = [phase for phase in _PHASES if any(point.setting.phase == phase for point in points)]
    errors = [f"{phase} {percent(median_error(points, phase))}" for phase in known]
    return f"median error: {', '.join(errors)}; predicted from the measured roofs, no value was fitted to a sweep"


def _table(points: list[OwnPoint]) -> Table:
    return Table(
        ["phase", "tokens in", "context", "measured", "predicted, estimated", "error"],
        [
            [
                point.setting.phase,
                f"{point.setting.num_query_tokens:,}",
                f"{point.setting.context_len:,}",
                seconds(point.measured_s),
                seconds(point.predicted_s),
                f"{percent(point.error)} too {'slow' if point.ratio > 1 else 'fast'}",
            ]
            for point in points
        ],
    )
