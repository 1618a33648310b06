"""This run's passes under the machine's measured roofs."""

import math

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.roofline import Ceilings, attainable
from inference.arithmetic.units import significant
from inference.trace import Step, Trace
from pages.charts.factors import log_label, log_range
from pages.charts.palette import COLOURS, ESTIMATE, INK, MARKS, PHASES, figure
from pages.charts.run.run import HEIGHT, step_work

_MAX_POINTS = 160  # of more passes every n-th is drawn, and the newest


def roofline(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="FLOP per byte, estimated", y="GFLOP/s, measured time")
    ceilings = trace.ceilings if trace else None
    low, high = 0.1, 1000.0
    if ceilings:
        _roofs(chart, ceilings, low, high)
    if trace:
        for phase in PHASES:
            steps = _thinned([step for step in timed(trace) if step.phase == phase])
            works = [step_work(trace, step) for step in steps]
            chart.add_scatter(
                x=np.array([work.intensity for work in works]),
                y=np.array([work.flops / step.forward_s / 1e9 for work, step in zip(works, steps, strict=True)]),
                mode="markers",
                marker={
                    "color": COLOURS[phase],
                    "symbol": MARKS[phase],
                    "size": 10 if phase == "prefill" else 8,
                    "opacity": 1 if phase == "prefill" else 0.5,
                },
                name=phase,
                customdata=np.array([step.index for step in steps]),
                hovertemplate=f"{phase}<br>%{{y:.3g}} GFLOP/s at %{{x:.3g}} FLOP/byte<extra></extra>",
            )
        _name_phases(chart, trace)
    chart.update_xaxes(type="log", range=log_range([low, high]), dtick=1)
    chart.update_yaxes(type="log", dtick=1)
    return chart


def timed(trace: Trace) -> list[Step]:
    """The passes that have a rate: a trace from elsewhere may hold passes of 0 seconds."""
    return [step for step in trace.steps if step.forward_s > 0]


def _thinned(steps: list[Step]) -> list[Step]:
    stride = math.ceil(len(steps) / _MAX_POINTS) or 1
    return steps[::-1][::stride][::-1]


def _roofs(chart: go.Figure, ceilings: Ceilings, low: float, high: float) -> None:
    ridge = ceilings.ridge_point
    at = [low, ridge, high]
    chart.add_scatter(
        x=at,
        y=[attainable(x, ceilings.bandwidth, ceilings.flops) / 1e9 for x in at],
        mode="lines",
        line={"color": INK, "width": 2},
        name="measured roofs",
        hovertemplate="roof: %{y:.3g} GFLOP/s at %{x:.3g} FLOP/byte, measured<extra></extra>",
    )
    log_label(
        chart,
        ridge,
        ceilings.flops / 1e9,
        f"ridge {significant(ridge, 2)} FLOP/byte",
        colour=ESTIMATE,
        size=12,
        xanchor="right",
        yanchor="bottom",
    )


def _name_phases(chart: go.Figure, trace: Trace) -> None:
    for phase in PHASES:
        step = next((step for step in reversed(timed(trace)) if step.phase == phase), None)
        if step is None:
            continue
        work = step_work(trace, step)
        log_label(
            chart,
            work.intensity,
            work.flops / step.forward_s / 1e9,
            phase,
            colour=COLOURS[phase],
            size=12,
            xanchor="left",
            xshift=10,
        )
