"""Throughput of all users against the speed of each, over concurrency: what a larger batch buys and costs."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import significant
from inference.planner import Plan
from inference.planner.ranking import CurvePoint
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import CARD, DASHED, ESTIMATE, INK, figure

HEIGHT = 380
_FEW = 3.0  # powers of ten: fewer have ticks between them


def throughput(points: Sequence[CurvePoint], asked: Plan) -> go.Figure:
    """A dashed line as far as the memory holds the conversations, crosses beyond, a ring around the plan's own."""
    chart = figure(height=HEIGHT, x="tokens/s of each user, estimated", y="output tokens/s in all, estimated")
    within, beyond = [point for point in points if point.fits], [point for point in points if not point.fits]
    _line(chart, within, {**DASHED, "width": 2}, "circle", "fits")
    _line(chart, within[-1:] + beyond, {**DASHED, "dash": "dot", "width": 1}, "x-thin", "memory is full")
    if within and beyond:
        last = within[-1]
        _note(chart, last.plan, f"memory is full after {last.concurrency:,}", is_last=True)
    for point in within[:-1]:
        _note(chart, point.plan, f"{point.concurrency:,}", colour=ESTIMATE)
    chart.add_scatter(
        x=[asked.tps_per_user],
        y=[asked.tps_total],
        mode="markers",
        marker={"symbol": "circle-open", "size": 17, "color": INK, "line": {"width": 2}},
        name="this plan",
        hovertext=_hover(asked),
        hoverinfo="text",
    )
    plans = [*(point.plan for point in points), asked]
    for update, values in (
        (chart.update_xaxes, [plan.tps_per_user for plan in plans]),
        (chart.update_yaxes, [plan.tps_total for plan in plans]),
    ):
        ends = log_range(values, below=1.5, above=1.8)
        update(type="log", range=ends, **log_ticks(ends, (1, 2, 5) if ends[1] - ends[0] < _FEW else (1,)))
    chart.update_layout(margin={"l": 70})
    return chart


def _line(chart: go.Figure, points: Sequence[CurvePoint], line: dict[str, object], symbol: str, name: str) -> None:
    chart.add_scatter(
        x=np.array([point.plan.tps_per_user for point in points]),
        y=np.array([point.plan.tps_total for point in points]),
        mode="lines+markers",
        line=line,
        marker={"symbol": symbol, "size": 8, "color": ESTIMATE, "line": {"color": ESTIMATE, "width": 1.5}},
        name=name,
        hovertext=[_hover(point.plan) for point in points],
        hoverinfo="text",
    )


def _hover(plan: Plan) -> str:
    return (
        f"{plan.workload.concurrency:,} conversations: {significant(plan.tps_total)} tokens/s in all, "
        f"{significant(plan.tps_per_user)} each, estimated"
    )


def _note(chart: go.Figure, plan: Plan, text: str, *, is_last: bool = False, colour: str = INK) -> None:
    log_label(
        chart,
        plan.tps_per_user,
        plan.tps_total,
        text,
        colour=colour,
        size=12,
        xanchor="right" if is_last else "left",
        yanchor="top" if is_last else "bottom",
        xshift=-6 if is_last else 8,
        yshift=-6 if is_last else 0,
        bgcolor=CARD,
        borderpad=0,
    )
