"""How far the logits with and without the KV cache are apart, token by token, in each dtype."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.kv_cache.agreement import Agreement
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import CARD, INK, figure, literal

HEIGHT = 270


def agreement(dtypes: Sequence[Agreement], num_tokens: int) -> go.Figure:
    """Lines of the measured differences over a logarithmic axis; a token with none at all has no point on it."""
    known = [comparison for comparison in dtypes if comparison.largest > 0]
    chart = figure(height=HEIGHT, x="token", y="largest logit difference, measured", is_empty=not known)
    for comparison in known:
        _line(chart, comparison)
    chart.update_xaxes(range=[0.5, num_tokens + 0.5], showgrid=False)
    if known:
        ends = log_range((value for comparison in known for value in comparison.differences), below=4, above=8)
        chart.update_yaxes(type="log", range=ends, **log_ticks(ends))
        chart.update_layout(margin={"l": 72})
    return chart


def _line(chart: go.Figure, comparison: Agreement) -> None:
    number = np.arange(1, len(comparison.differences) + 1)
    differences = np.array(comparison.differences)
    is_drawn = differences > 0
    chart.add_scatter(
        x=number[is_drawn],
        y=differences[is_drawn],
        mode="lines+markers",
        line={"color": INK, "width": 2},
        marker={"size": 5, "color": INK},
        name=literal(comparison.dtype),
        hovertemplate=f"{literal(comparison.dtype)}, token %{{x}}: %{{y:.3g}}<extra></extra>",
    )
    _name(chart, number[is_drawn][-1], comparison.largest, literal(comparison.dtype), anchor="right")
    if comparison.first_differing is not None and is_drawn[comparison.first_differing - 1]:
        _ring(chart, comparison.first_differing, comparison.differences[comparison.first_differing - 1])


def _ring(chart: go.Figure, number: int, difference: float) -> None:
    """Around the first token that greedy decoding would choose differently."""
    chart.add_scatter(
        x=[number],
        y=[difference],
        mode="markers",
        marker={"size": 13, "color": CARD, "line": {"color": INK, "width": 2}, "symbol": "circle"},
        name="first other token",
        hovertemplate=f"token {number}: another one is chosen without the cache<extra></extra>",
    )
    _name(chart, number, difference, f"token {number} would be another", anchor="left", yshift=-32)


def _name(chart: go.Figure, x: float, y: float, text: str, *, anchor: str, yshift: int = 8) -> None:
    log_label(chart, x, y, text, on="y", xanchor=anchor, yanchor="bottom", yshift=yshift)
