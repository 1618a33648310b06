"""What the planner predicts against what others measured and published, row by row."""

import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go

from inference.arithmetic.units import percent, seconds
from inference.planner.published.error import PredictedRun
from pages.charts.factors import log_label, log_range
from pages.charts.palette import CARD, COLOURS, DASHED, ESTIMATE, INK, figure, literal

HEIGHT = 430
_MARKS = {"prefill": "square", "decode": "circle", "request": "diamond"}
_TICKS = ((1e-4, "100 µs"), (1e-3, "1 ms"), (1e-2, "10 ms"), (1e-1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"))


def agreement(rows: Sequence[PredictedRun]) -> go.Figure:
    """Both axes by factors; on the dashed line both are equal. Filled: held back; hollow: fitted to."""
    chart = figure(height=HEIGHT, x="published, measured", y="predicted, estimated")
    every = [row.run.seconds for row in rows] + [row.predicted_s for row in rows]
    low, high = min(every) / 1.6, max(every) * 1.6
    chart.add_scatter(x=[low, high], y=[low, high], mode="lines", line=DASHED, hoverinfo="skip", name="equal")
    for kind, mark in _MARKS.items():
        for is_held_back in (False, True):
            these = [row for row in rows if row.run.kind == kind and row.is_held_back == is_held_back]
            colour = COLOURS.get(kind, INK)
            chart.add_scatter(
                x=[row.run.seconds for row in these],
                y=[row.predicted_s for row in these],
                mode="markers",
                marker={
                    "symbol": mark,
                    "size": 9,
                    "color": colour if is_held_back else CARD,
                    "line": {"color": colour, "width": 1.5},
                },
                hovertext=[hover(row) for row in these],
                hoverinfo="text",
                name=f"{kind}, {'held back' if is_held_back else 'fitted'}",
            )
    log_label(chart, low * 1.4, low * 1.4, "equal", colour=ESTIMATE, xanchor="left", xshift=12)
    shown = [
        (value, text) for value, text in (*_TICKS, (100.0, "100 s"), (1000.0, "1,000 s")) if low < value < high
    ]
    axis = {
        "type": "log",
        "range": log_range([low, high]),
        "tickvals": [v for v, _ in shown],
        "ticktext": [t for _, t in shown],
    }
    chart.update_xaxes(**axis)
    chart.update_yaxes(**axis)
    chart.update_layout(margin={"l": 72}, hoverlabel={"align": "left"})
    return chart


def hover(row: PredictedRun) -> str:
    """What was measured, how far off, under which conditions and who says so."""
    run = row.run
    lines = [
        f"{run.kind}, {run.spec.name}, {run.hardware.name}, {run.engine_name}",
        f"published {seconds(run.seconds)}, predicted {seconds(row.predicted_s)}: {off(row)}",
        *textwrap.wrap(run.conditions, 80),
        *textwrap.wrap(f"Source: {run.source}", 80),
        "held back from the fit" if row.is_held_back else "fitted to",
    ]
    return "<br>".join(map(literal, lines))


def off(row: PredictedRun) -> str:
    """How far off and in which direction."""
    return f"{percent(row.error)} too {'slow' if row.ratio > 1 else 'fast'}"
