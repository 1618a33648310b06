"""Eager decode steps against their layers: published times, measured by others, and the roofline's floor below."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds, significant
from inference.planner.published.layer_clock import ClockRow
from pages.charts.palette import CARD, DASHED, DECODE, ESTIMATE, figure, label, literal

HEIGHT = 350
_MOST_NAMED = 8
"""Points that have a name beside them; more have it in the hover only."""


def layer_clock(rows: Sequence[ClockRow], clock_s: float) -> go.Figure:
    """Full: published. Hollow: the floor, estimated. Dashed: the planner's clock, so much a layer."""
    chart = figure(height=HEIGHT, x="layers", y="ms per step: by others; floor estimated")
    layers = np.array([row.run.spec.num_layers for row in rows])
    measured = np.array([row.run.seconds for row in rows]) * 1e3
    floors = np.array([row.floor_s for row in rows]) * 1e3
    most, highest = max(layers) * 1.18, max(measured) * 1.15
    _clock(chart, clock_s, most)
    chart.add_scatter(
        x=layers,
        y=floors,
        mode="markers",
        marker={"symbol": "circle", "size": 8, "color": CARD, "line": {"color": ESTIMATE, "width": 1.5}},
        name="floor, estimated",
        hovertext=[f"{_what(row)}<br>floor at the roofline {seconds(row.floor_s)}, estimated" for row in rows],
        hoverinfo="text",
    )
    chart.add_scatter(
        x=layers,
        y=measured,
        mode="markers",
        marker={"symbol": "circle", "size": 11, "color": DECODE, "line": {"color": CARD, "width": 1}},
        name="measured by others",
        hovertext=[_hover(row) for row in rows],
        hoverinfo="text",
    )
    if len(rows) <= _MOST_NAMED:
        _names(chart, rows)
    chart.update_xaxes(range=[0, most])
    return chart.update_yaxes(range=[0, highest])


def _clock(chart: go.Figure, clock_s: float, most: float) -> None:
    chart.add_scatter(
        x=np.array([0, most]),
        y=np.array([0, most * clock_s * 1e3]),
        mode="lines",
        line=DASHED,
        name="clock",
        hoverinfo="skip",
    )
    at = most * 0.25
    label(
        chart,
        at,
        at * clock_s * 1e3,
        f"{significant(clock_s * 1e3)} ms a layer",
        colour=ESTIMATE,
        size=12,
        xanchor="left",
        yanchor="top",
        xshift=6,
    )


def _names(chart: go.Figure, rows: Sequence[ClockRow]) -> None:
    """Beside each point: the slowest of so many layers on the left, the others on the right."""
    columns: dict[int, list[ClockRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: -row.run.seconds):
        columns[row.run.spec.num_layers].append(row)
    for layers, column in columns.items():
        for place, row in enumerate(column):
            is_right = place > 0
            label(
                chart,
                layers,
                row.run.seconds * 1e3,
                literal(row.run.spec.name),
                size=12,
                xanchor="left" if is_right else "right",
                yanchor="top" if is_right else "bottom",
                xshift=7 if is_right else -7,
                bgcolor=CARD,
                borderpad=0,
            )


def _what(row: ClockRow) -> str:
    run = row.run
    batch = "" if run.batch_size == 1 else f", batch {run.batch_size}"
    return f"{literal(run.spec.name)}, {run.spec.num_layers} layers, on {literal(run.hardware.name)}{batch}"


def _hover(row: ClockRow) -> str:
    lines = [
        f"{_what(row)}: {seconds(row.run.seconds)}, measured by others",
        f"{seconds(row.layer_s)} a layer; {significant(row.times_floor)} times its floor",
        literal(row.run.engine_name),
        literal(row.run.source),
    ]
    return "<br>".join(lines)
