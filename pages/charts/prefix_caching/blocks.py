"""Prefix caching in tokens and blocks: what came from the cache, what was computed, what is kept."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import scaled
from inference.prefix_caching.records import CachedPrefill
from inference.prefix_caching.shared import SharedRun
from pages.charts.palette import CARD, CLEAR, HAIRLINE, INK, PREFILL, figure, label
from pages.charts.strips import OUTLINE, edges, name_rows

STRIP_HEIGHT, BARS_HEIGHT = 210, 300
_HALF = 0.32  # of a strip's height
_MOST_DIVIDED = 80  # blocks side by side whose edges can still be told apart
_MOST_NAMED = 12  # bars with a number of their own


def strips(rows: Sequence[tuple[str, CachedPrefill]], num_rows: int) -> go.Figure:
    """One strip a request, from its first token on. Outlined: hit blocks. Solid: computed by prefill."""
    chart = figure(height=STRIP_HEIGHT, x="tokens of the prompt", y="", is_empty=not rows)
    if not rows:
        return chart
    served = [request for _, request in rows]
    places = list(range(len(rows)))
    chart.add_bar(
        y=places,
        base=np.array([request.cached_tokens for request in served]),
        x=np.array([request.computed_tokens for request in served]),
        orientation="h",
        width=2 * _HALF,
        marker={"color": PREFILL, "line": {"width": 0}},
        name="computed by prefill",
        hovertext=[_hover(name, request) for name, request in rows],
        hoverinfo="text",
    )
    warm = [place for place, request in enumerate(served) if request.cached_tokens]
    chart.add_bar(
        y=warm,
        x=np.array([served[place].cached_tokens for place in warm]),
        orientation="h",
        width=2 * _HALF,
        marker={"color": CLEAR, "line": OUTLINE},
        name="from the cache",
        hovertext=[_hover(*rows[place]) for place in warm],
        hoverinfo="text",
    )
    longest = max(request.prompt_tokens for request in served)
    _edges(chart, served, longest)
    chart.update_layout(barmode="overlay", margin={"l": 104, "r": 12, "t": 4, "b": 40})
    chart.update_xaxes(range=[0, longest * 1.01], showgrid=False)
    name_rows(chart, [name for name, _ in rows], num_rows)
    return chart


def _edges(chart: go.Figure, served: Sequence[CachedPrefill], longest: int) -> None:
    """Where one block ends and the next begins; of computed ones, only full blocks have an end."""
    if any(longest > _MOST_DIVIDED * request.block_size for request in served):
        return
    hit, computed = [], []
    for place, request in enumerate(served):
        hit += [(number * request.block_size, place) for number in range(1, request.hit_blocks)]
        own = range(request.hit_blocks + 1, _num_full(request) + 1)
        computed += [(number * request.block_size, place) for number in own]
    edges(chart, hit, half_height=_HALF, line=OUTLINE)
    edges(chart, computed, half_height=_HALF, line={"color": CARD, "width": 1.5})


def token_bars(served: Sequence[CachedPrefill], num_bars: int, x: str) -> go.Figure:
    """One bar a request: below, outlined, what came from the cache; above, solid, what was computed."""
    chart = figure(height=BARS_HEIGHT, x=x, y="tokens of the prompt", is_empty=not served)
    if not served:
        return chart
    at = np.arange(1, len(served) + 1)
    cached = np.array([request.cached_tokens for request in served])
    hover = [_hover(f"{x} {place}", request) for place, request in enumerate(served, start=1)]
    warm = np.flatnonzero(cached)  # without the others' outline, which would be a line on the axis
    chart.add_bar(
        x=at[warm],
        y=cached[warm],
        marker={"color": CLEAR, "line": OUTLINE},
        name="from the cache",
        hovertext=[hover[place] for place in warm],
        hoverinfo="text",
    )
    chart.add_bar(
        x=at,
        base=cached,
        y=np.array([request.computed_tokens for request in served]),
        marker={"color": PREFILL, "line": {"width": 0}},
        name="computed by prefill",
        hovertext=hover,
        hoverinfo="text",
    )
    chart.update_layout(barmode="overlay")
    _one_by_one(chart, num_bars)
    return chart


def kept_blocks(run: SharedRun | None, num_bars: int) -> go.Figure:
    """Bytes kept after each request under the budget; evicted blocks as numbers above."""
    chart = figure(height=BARS_HEIGHT, x="learner", y="MB kept, measured", is_empty=run is None)
    if run is None:
        return chart
    each_mb = run.kept_bytes / run.arrivals[-1].num_kept / 1e6 if run.arrivals[-1].num_kept else 0.0
    at = np.arange(1, len(run.arrivals) + 1)
    kept_mb = np.array([arrival.num_kept for arrival in run.arrivals]) * each_mb
    chart.add_bar(
        x=at,
        y=kept_mb,
        marker={"color": HAIRLINE, "line": OUTLINE},
        name="kept",
        hovertext=[
            f"after learner {place}: {arrival.num_kept:,} of {run.capacity:,} blocks kept, "
            f"{arrival.num_evicted:,} evicted"
            for place, arrival in enumerate(run.arrivals, start=1)
        ],
        hoverinfo="text",
    )
    budget_mb = run.budget_bytes / 1e6
    chart.add_shape(type="line", xref="paper", x0=0, x1=1, y0=budget_mb, y1=budget_mb, line=OUTLINE)
    label(
        chart,
        0,
        budget_mb,
        f"budget: {scaled(run.budget_bytes, 'B')}",
        xref="paper",
        xanchor="left",
        yanchor="bottom",
    )
    if any(arrival.num_evicted for arrival in run.arrivals) and num_bars <= _MOST_NAMED:
        chart.add_scatter(
            x=at,
            y=kept_mb / 2,
            mode="text",
            text=[f"−{arrival.num_evicted}" if arrival.num_evicted else "" for arrival in run.arrivals],
            textfont={"size": 13, "color": INK},
            name="evicted",
            hoverinfo="skip",
        )
    chart.update_yaxes(range=[0, max(budget_mb, float(kept_mb.max())) * 1.18])
    _one_by_one(chart, num_bars)
    return chart


def _one_by_one(chart: go.Figure, num_bars: int) -> None:
    chart.update_xaxes(range=[0.4, num_bars + 0.6], showgrid=False)
    if num_bars <= _MOST_NAMED:
        chart.update_xaxes(tickmode="array", tickvals=list(range(1, num_bars + 1)))


def _num_full(request: CachedPrefill) -> int:
    return request.prompt_tokens // request.block_size


def _hover(name: str, request: CachedPrefill) -> str:
    rest = request.prompt_tokens - _num_full(request) * request.block_size
    return (
        f"{name}: {request.prompt_tokens:,} tokens, {request.cached_tokens:,} from the cache, "
        f"{request.computed_tokens:,} computed"
        f"<br>{request.hit_blocks:,} blocks hit, {request.missed_blocks:,} missed, "
        f"{rest:,} tokens in a partial block"
    )
