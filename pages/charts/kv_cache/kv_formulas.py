"""One KV cache by its tensors and by three formulas: bars of bytes, solid measured, dashed by formula."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from inference.arithmetic.units import scaled, significant
from pages.charts.palette import CLEAR, ESTIMATE, INK, figure, label
from pages.charts.strips import DASHES

HEIGHT = 262
_HALF = 0.3  # of a bar's height


@dataclass(frozen=True, slots=True)
class Bar:
    """One size of the same cache."""

    name: str
    num_bytes: float
    """0 for a cache that has not been measured yet."""
    is_measured: bool
    times_right: float = 1.0


def kv_formulas(bars: Sequence[Bar]) -> go.Figure:
    chart = figure(height=HEIGHT, x="", y="", is_empty=not bars)
    if not bars:
        return chart
    chart.add_bar(
        y=list(range(len(bars))),
        x=[bar.num_bytes for bar in bars],
        orientation="h",
        width=2 * _HALF,
        marker={"color": [INK if bar.is_measured else CLEAR for bar in bars], "line": {"width": 0}},
        hovertext=[
            f"{bar.num_bytes:,.0f} bytes, {'measured' if bar.is_measured else 'by formula'}" for bar in bars
        ],
        hoverinfo="text",
        name="bytes",
    )
    for place, bar in enumerate(bars):
        label(
            chart,
            bar.num_bytes,
            place,
            _label(bar),
            colour=INK if bar.num_bytes else ESTIMATE,
            xanchor="left",
            xshift=5,
            align="left",
        )
        if not bar.is_measured:
            chart.add_shape(
                type="rect",
                x0=0,
                x1=bar.num_bytes,
                y0=place - _HALF,
                y1=place + _HALF,
                line=DASHES,
                fillcolor=CLEAR,
            )
    chart.update_layout(margin={"l": 96, "r": 8, "t": 4, "b": 4})
    chart.update_yaxes(
        range=[len(bars) - 0.5, -0.5],
        showgrid=False,
        tickmode="array",
        tickvals=list(range(len(bars))),
        ticktext=[f"{bar.name},<br>{'measured' if bar.is_measured else 'formula'}" for bar in bars],
        tickfont={"size": 12, "color": INK},
    )
    chart.update_xaxes(range=[0, max(bar.num_bytes for bar in bars) * 1.45], visible=False)
    return chart


def _label(bar: Bar) -> str:
    if not bar.num_bytes:
        return "not measured yet"
    size = scaled(bar.num_bytes, "B")
    if bar.is_measured or bar.times_right == 1:
        return size
    return f"{size}<br>{significant(bar.times_right)} times"
