"""TTFT with and without a reused prefix: measured medians with every repeat, estimates dashed beside them."""

import statistics
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds
from inference.prefix_caching.chat import Turn
from inference.prefix_caching.records import CachedPrefill, median_ttft_s
from pages.charts.palette import CARD, DASHED, ESTIMATE, INK, PREFILL, figure, label
from pages.charts.strips import DASHES, frame, name_rows

BARS_HEIGHT, TURNS_HEIGHT = 210, 300
_ROOM = 0.4  # of the turns' width, for the names of the lines


def ttft_bars(
    rows: Sequence[tuple[str, Sequence[CachedPrefill]]],
    num_rows: int,
    *,
    likely_s: Sequence[float] = (),
    longest_s: float = 0.0,
    height: int = BARS_HEIGHT,
) -> go.Figure:
    """A bar a row: the median, its repeats as dots. `likely_s` are the rows' estimates, drawn dashed below.

    Charts that stand beside each other get the same `longest_s`.
    """
    how = "measured; dashed: estimated" if likely_s else "measured"
    chart = figure(height=height, x=f"ms to the first token, {how}", y="", is_empty=not rows)
    if not rows:
        return chart
    shift = 0.18 if likely_s else 0.0
    places = np.arange(len(rows))
    medians_ms = np.array([median_ttft_s(served) for _, served in rows]) * 1e3
    chart.add_bar(
        y=places - shift,
        x=medians_ms,
        orientation="h",
        width=0.34 if likely_s else 0.6,
        marker={"color": PREFILL, "line": {"width": 0}},
        name="measured",
        hovertext=[_hover(name, served) for name, served in rows],
        hoverinfo="text",
    )
    repeats = [(place, request) for place, (_, served) in enumerate(rows) for request in served]
    chart.add_scatter(
        y=np.array([place for place, _ in repeats]) - shift,
        x=np.array([request.ttft_s for _, request in repeats]) * 1e3,
        mode="markers",
        marker={"color": CARD, "size": 6, "line": {"color": INK, "width": 1}},
        name="repeats",
        hoverinfo="skip",
    )
    most_ms = max(
        longest_s * 1e3, *(request.ttft_s * 1e3 for _, request in repeats), *(value * 1e3 for value in likely_s)
    )
    for place, (_, served) in enumerate(rows):
        end_ms = max(request.ttft_s for request in served) * 1e3
        label(chart, end_ms, place - shift, seconds(median_ttft_s(served)), xanchor="left", xshift=6)
    for place, value in enumerate(likely_s):
        frame(chart, (0, value * 1e3), place + shift, half_height=0.15, line=DASHES)
        label(chart, value * 1e3, place + shift, seconds(value), colour=ESTIMATE, xanchor="left", xshift=6)
    chart.update_layout(margin={"l": 84, "r": 12, "t": 4, "b": 40})
    chart.update_xaxes(range=[0, most_ms * 1.4], tickformat=",")
    name_rows(chart, [name for name, _ in rows], num_rows)
    return chart


def ttft_turns(turns: Sequence[Turn], num_turns: int, likely_s: Sequence[tuple[float, float]] = ()) -> go.Figure:
    """Median TTFT turn by turn, both ways. `likely_s`: per turn the estimates without and with reuse."""
    chart = figure(height=TURNS_HEIGHT, x="turn", y="ms to the first token, measured", is_empty=not turns)
    if not turns:
        return chart
    at = np.arange(1, len(turns) + 1)
    if likely_s:
        for arm in (0, 1):
            chart.add_scatter(
                x=at,
                y=np.array([pair[arm] for pair in likely_s]) * 1e3,
                mode="lines",
                line=DASHED,
                name="estimated",
                hovertemplate="estimated: %{y:,.0f} ms<extra></extra>",
            )
    arms = (
        ("computed again", "square-open", [turn.cold for turn in turns]),
        ("with reuse", "square", [turn.warm for turn in turns]),
    )
    middle_ms = sum(median_ttft_s(served[-1]) for _, _, served in arms) / 2 * 1e3
    for name, mark, served in arms:
        values = np.array([median_ttft_s(repeats) for repeats in served]) * 1e3
        chart.add_scatter(
            x=at,
            y=values,
            mode="lines+markers",
            line={"color": PREFILL, "width": 2.5},
            marker={"symbol": mark, "size": 9, "color": PREFILL},
            name=name,
            hovertext=[_hover(f"turn {place}, {name}", repeats) for place, repeats in enumerate(served, start=1)],
            hoverinfo="text",
        )
        label(
            chart,
            int(at[-1]),
            float(values[-1]),
            name,
            colour=PREFILL,
            xanchor="left",
            xshift=8,
            yanchor="bottom" if values[-1] > middle_ms else "top",
        )
    measured_ms = [request.ttft_s * 1e3 for turn in turns for request in (*turn.cold, *turn.warm)]
    most_ms = max([*measured_ms, *(value * 1e3 for pair in likely_s for value in pair)])
    chart.update_xaxes(
        range=[0.7, num_turns + 0.3 + _ROOM * num_turns],
        tickmode="array",
        tickvals=list(range(1, num_turns + 1)),
        showgrid=False,
    )
    chart.update_yaxes(range=[0, most_ms * 1.15], tickformat=",")
    return chart


def _hover(name: str, served: Sequence[CachedPrefill]) -> str:
    parts = [
        ("look-up", statistics.median(request.lookup_s for request in served)),
        ("joining blocks", statistics.median(request.assemble_s for request in served)),
        ("forward pass", statistics.median(request.forward_s for request in served)),
    ]
    words = ", ".join(f"{part} {seconds(value)}" for part, value in parts)
    return f"{name}: {seconds(median_ttft_s(served))}, median of {len(served)}<br>{words}"
