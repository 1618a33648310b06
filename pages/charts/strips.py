"""Strips that lie one under the other, each with its name: their axis, their frames, the edges inside them."""

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from pages.charts.palette import CLEAR, ESTIMATE, INK

OUTLINE = {"color": INK, "width": 1.2}
DASHES = {"color": ESTIMATE, "width": 1.2, "dash": "5px,4px"}


def name_rows(chart: go.Figure, names: Sequence[str], num_rows: int | None = None) -> None:
    """The first on top; room for `num_rows`, where more are to come."""
    chart.update_yaxes(
        range=[(num_rows or len(names)) - 0.5, -0.5],
        showgrid=False,
        tickmode="array",
        tickvals=list(range(len(names))),
        ticktext=list(names),
        tickfont={"size": 13, "color": INK},
    )


def frame(
    chart: go.Figure, span: tuple[float, float], y: float, *, half_height: float, line: dict[str, object]
) -> None:
    """An outline from the first to the second value of `span`."""
    x0, x1 = span
    ends = {"x0": x0, "x1": x1, "y0": y - half_height, "y1": y + half_height}
    chart.add_shape(type="rect", line=line, fillcolor=CLEAR, **ends)


def edges(
    chart: go.Figure, spots: Iterable[tuple[float, int]], *, half_height: float, line: dict[str, object]
) -> None:
    """A trace of short upright lines, each at its value and row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for value, row in spots:
        x += [value, value, None]
        y += [row - half_height, row + half_height, None]
    chart.add_scatter(x=x, y=y, mode="lines", line=line, name="edges", hoverinfo="skip")
