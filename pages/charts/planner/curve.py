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


def throughput(points: Sequence[CurvePoint], made: Plan) -> go.Figure:
    """A dashed line as far as the memory holds the conversations, crosses beyond, a ring around the plan's own."""
    chart = figure(height=HEIGHT, x="tokens/s of each user, estimated", y="output tokens/s in all, estimated")
    within, beyond = [one for one in points if one.fits], [one for one in points if not one.fits]
    _line(chart, within, {**DASHED, "width": 2}, "circle", "fits")
    _line(chart, within[-1:] + beyond, {**DASHED, "dash": "dot", "width": 1}, "x-thin", "memory is full")
    if within and beyond:
        last = within[-1]
        _note(chart, last.plan, f"memory is full after {last.concurrency:,}", is_last=True)
    for one in within[:-1]:
        _note(chart, one.plan, f"{one.concurrency:,}", colour=ESTIMATE)
    chart.add_scatter(
        x=[made.tps_per_user],
        y=[made.tps_total],
        mode="markers",
        marker={"symbol": "circle-open", "size": 17, "color": INK, "line": {"width": 2}},
        name="this plan",
        hovertext=_hover(made),
        hoverinfo="text",
    )
    plans = [*(one.plan for one in points), made]
    for update, values in (
        (chart.update_xaxes, [one.tps_per_user for one in plans]),
        (chart.update_yaxes, [one.tps_total for one in plans]),
    ):
        ends = log_range(values, below=1.5, above=1.8)
        update(type="log", range=ends, **log_ticks(ends, (1, 2, 5) if ends[1] - ends[0] < _FEW else (1,)))
    chart.update_layout(margin={"l": 70})
    return chart


def _line(chart: go.Figure, points: Sequence[CurvePoint], line: dict[str, object], symbol: str, name: str) -> None:
    chart.add_scatter(
        x=np.array([one.plan.tps_per_user for one in points]),
        y=np.array([one.plan.tps_total for one in points]),
        mode="lines+markers",
        line=line,
        marker={"symbol": symbol, "size": 8, "color": ESTIMATE, "line": {"color": ESTIMATE, "width": 1.5}},
        name=name,
        hovertext=[_hover(one.plan) for one in points],
        hoverinfo="text",
    )


def _hover(made: Plan) -> str:
    return (
        f"{made.workload.concurrency:,} conversations: {significant(made.tps_total)} tokens/s in all, "
        f"{significant(made.tps_per_user)} each, estimated"
    )


def _note(chart: go.Figure, made: Plan, text: str, *, is_last: bool = False, colour: str = INK) -> None:
    log_label(
        chart,
        made.tps_per_user,
        made.tps_total,
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
