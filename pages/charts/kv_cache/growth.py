"""KV caches growing beside the weights, by arithmetic: everything here is estimated, so everything is dashed."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.kv_cache.growth import cache_bytes, matching_context
from pages.charts.factors import log_label, log_range
from pages.charts.palette import CARD, DASHED, ESTIMATE, INK, figure, literal

HEIGHT = 320
_SPAN = 4096  # the axis begins at this share of the context
_BITES = 48  # points of a curve, beside its bends


def cache_growth(
    spec: ModelSpec, *, batch_size: int, context_len: int, free_bytes: float | None = None, machine: str = ""
) -> go.Figure:
    """Bytes of `batch_size` caches up to `context_len` tokens each; what lies past the model's own is dotted."""
    chart = figure(height=HEIGHT, x="tokens of context, each conversation", y="bytes, estimated")
    low = max(1, context_len // _SPAN)

    def bytes_at(tokens: int) -> float:
        return cache_bytes(spec, context_len=tokens, batch_size=batch_size)

    lengths = _lengths(spec, low, context_len)
    own = [length for length in lengths if length <= spec.max_context]
    beyond = [length for length in lengths if length >= spec.max_context]
    for part, line in ((own, _OWN), (beyond, _BEYOND)):
        chart.add_scatter(
            x=np.array(part),
            y=np.array([bytes_at(length) for length in part]),
            mode="lines",
            line=line,
            name="KV cache",
            hovertext=[f"{length:,} tokens: {scaled(bytes_at(length), 'B')}, estimated" for length in part],
            hoverinfo="text",
        )
    middle = max(1, round(math.sqrt(low * context_len)))
    note(chart, middle, bytes_at(middle), f"KV cache, batch {batch_size:,}", is_left=False, is_above=False)
    matching = matching_context(spec, batch_size=batch_size)
    is_late = matching is None or matching > middle  # then the left is clear for labels, else the right
    levels = [(spec.weight_bytes, f"weights {scaled(spec.weight_bytes, 'B')}")]
    if free_bytes is not None and free_bytes > 0:
        levels.append((free_bytes, f"left by them in {literal(machine)}: {scaled(free_bytes, 'B')}"))
    for size, words in levels:
        is_above = size == max(levels)[0]
        _level(chart, (low, context_len), size)
        at = low if is_late else context_len
        note(chart, at, size, words, is_left=not is_late, is_above=is_above, colour=ESTIMATE)
    if matching and low <= matching <= context_len:
        words = f"{matching:,.0f} tokens"
        hover = f"as large as the weights at {words}, estimated"
        crossing(chart, matching, spec.weight_bytes, words, hover, is_left=is_late)
    by_tokens(chart, low, context_len)
    by_bytes(chart, bytes_at(low), max(bytes_at(context_len), max(levels)[0]))
    if low < spec.max_context < context_len:
        _end(chart, spec.max_context)
    return chart


_OWN = {"color": INK, "width": 2.5, "dash": "dash"}
_BEYOND = {"color": ESTIMATE, "width": 2, "dash": "dot"}


def _lengths(spec: ModelSpec, low: int, high: int) -> list[int]:
    """Where a curve is computed: evenly by factors, where a window is full, and where the model's context ends."""
    even = np.geomspace(low, high, _BITES).round().astype(int).tolist()
    bends = [window for window in spec.layer_windows if window] + [spec.max_context]
    return sorted({*even, *(bend for bend in bends if low < bend < high)})


def _level(chart: go.Figure, ends: tuple[int, int], size: float) -> None:
    chart.add_scatter(
        x=np.array(ends), y=np.array([size, size]), mode="lines", line=DASHED, name="level", hoverinfo="skip"
    )


def crossing(chart: go.Figure, x: float, y: float, words: str, hover: str, *, is_left: bool) -> None:
    """A diamond where two curves meet, with its words on the left above it or on the right below."""
    chart.add_scatter(
        x=np.array([x]),
        y=np.array([y]),
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": CARD, "line": {"color": INK, "width": 2}},
        name="crossing",
        hovertext=[hover],
        hoverinfo="text",
    )
    note(chart, x, y, words, is_left=is_left, is_above=is_left)


def _end(chart: go.Figure, tokens: int) -> None:
    chart.add_vline(x=tokens, line={"color": ESTIMATE, "width": 1, "dash": "dot"})
    log_label(
        chart,
        tokens,
        0,
        f"the model's own {tokens:,}",
        on="x",
        colour=ESTIMATE,
        size=12,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        xshift=-5,
    )


def note(
    chart: go.Figure, x: float, y: float, text: str, *, is_left: bool, is_above: bool, colour: str = INK
) -> None:
    """A label beside a point of two axes that grow by factors."""
    log_label(
        chart,
        x,
        y,
        text,
        colour=colour,
        xanchor="right" if is_left else "left",
        yanchor="bottom" if is_above else "top",
        xshift=-8 if is_left else 6,
        yshift=3 if is_above else -3,
        bgcolor=CARD,
        borderpad=0,
    )


def by_tokens(chart: go.Figure, low: int, high: int) -> None:
    """An axis of powers of two; 4K is 4,096."""
    powers = [2**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    shown: Sequence[int] = powers[:: math.ceil(len(powers) / 7) or 1] if powers else [low]
    chart.update_xaxes(
        type="log",
        range=log_range([low, high], below=1.15, above=1.15),
        tickvals=list(shown),
        ticktext=[_short(tokens) for tokens in shown],
        showgrid=False,
    )


def by_bytes(chart: go.Figure, low: float, high: float) -> None:
    """An axis of thousands: kB, MB, GB, TB."""
    ticks = [10.0**power for power in range(0, 19, 1 if high / low < 1e5 else 3)]
    shown = [tick for tick in ticks if low / 3 <= tick <= high * 3]
    chart.update_yaxes(
        type="log",
        range=log_range([low, high], below=1.6, above=2.5),
        tickvals=shown,
        ticktext=[_size(tick) for tick in shown],
    )


def _short(tokens: int) -> str:
    for size, letter in ((1024**2, "M"), (1024, "K")):
        if tokens >= size:
            return f"{tokens // size:,}{letter}"
    return f"{tokens}"


def _size(num_bytes: float) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if num_bytes >= size:
            return f"{num_bytes / size:,.0f} {unit}"
    return f"{num_bytes:,.0f} B"
