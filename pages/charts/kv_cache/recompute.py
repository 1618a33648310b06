"""With the KV cache and without it: tokens fed, by arithmetic, and time of the next token, measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds
from inference.kv_cache.recompute import WITH, WITHOUT, token_forwards
from inference.machine.sweeps import SweepPoint
from inference.trace import Phase
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import COLOURS, MARKS, figure, label
from pages.charts.quartiles import medians_ms, quartiles_ms

HEIGHT = 300
# with the cache the next token is a decode step; without it, a prefill of everything
ARMS: tuple[tuple[int, str, Phase], ...] = ((0, WITH, "decode"), (1, WITHOUT, "prefill"))
_CURVE_POINTS = 60


def token_forwards_chart(prompt_tokens: int, new_tokens: int) -> go.Figure:
    """Both curves against the number of tokens generated."""
    chart = figure(height=HEIGHT, x="tokens generated", y="tokens fed through the model, computed")
    at = np.unique(np.linspace(1, new_tokens, min(new_tokens, _CURVE_POINTS)).round().astype(int))
    fed = np.array([token_forwards(prompt_tokens=prompt_tokens, new_tokens=int(n)) for n in at])
    for arm, name, phase in ARMS:
        chart.add_scatter(
            x=at,
            y=fed[:, arm],
            mode="lines",
            line={"color": COLOURS[phase], "width": 2.5},
            name=name,
            hovertemplate=f"{name}: %{{y:,.0f}} tokens fed for %{{x:,.0f}} generated<extra></extra>",
        )
        words = f"{name}: {fed[-1, arm]:,}"
        label(chart, float(at[-1]), float(fed[-1, arm]), words, colour=COLOURS[phase], **_place("right"))
    chart.update_xaxes(range=[0, new_tokens])
    chart.update_yaxes(range=[0, float(fed.max()) * 1.12])
    return chart


def time_chart(pairs: Sequence[tuple[SweepPoint, SweepPoint]], lengths: Sequence[int]) -> go.Figure:
    """Median of the repeats with their quartiles; both axes grow by factors. `lengths`: all there will be."""
    chart = figure(height=HEIGHT, x="tokens of context", y="ms for the next token, measured", is_empty=not pairs)
    if not pairs:
        return chart
    known = np.array([pair[0].setting.context_len for pair in pairs])
    is_early = known[-1] ** 2 < lengths[0] * lengths[-1]  # in the left half, while the sweep grows
    for arm, name, phase in ARMS:
        points = [pair[arm] for pair in pairs]
        medians = medians_ms(points)
        chart.add_scatter(
            x=known,
            y=medians,
            mode="lines+markers",
            line={"color": COLOURS[phase], "width": 2.5},
            marker={"symbol": MARKS[phase], "size": 8},
            error_y=quartiles_ms(points),
            name=name,
            hovertext=[_hover(name, point) for point in points],
            hoverinfo="text",
        )
        anchor = "left" if is_early else "right"
        log_label(chart, known[-1], medians[-1], name, colour=COLOURS[phase], **_place(anchor))
    _by_factors(chart, pairs, lengths)
    return chart


def _by_factors(chart: go.Figure, pairs: Sequence[tuple[SweepPoint, SweepPoint]], lengths: Sequence[int]) -> None:
    ends = [bound * 1e3 for pair in pairs for point in pair for bound in (point.lower_s, point.upper_s)]
    chart.update_xaxes(
        type="log",
        range=log_range([lengths[0], lengths[-1]], below=1.2, above=1.2),
        tickvals=list(lengths),
        ticktext=[f"{length:,}" for length in lengths],
        showgrid=False,
    )
    span = log_range(ends, below=1.5, above=2)
    chart.update_yaxes(type="log", range=span, **log_ticks(span, (1, 2, 5)))


def _place(anchor: str) -> dict[str, Any]:
    return {"xanchor": anchor, "xshift": 8 if anchor == "left" else 0, "yanchor": "bottom", "yshift": 6}


def _hover(name: str, point: SweepPoint) -> str:
    return (
        f"{name}, {point.setting.context_len:,} tokens<br>{seconds(point.median_s)}, "
        f"quartiles {seconds(point.lower_s)} to {seconds(point.upper_s)}, {len(point.times_s)} repeats"
    )
