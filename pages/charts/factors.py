"""Axes that grow by factors: Plotly places labels and ends there by powers of ten, and 0 and below have none."""

import math
from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from pages.charts.palette import INK, label

_MOST_POWERS = 8  # more powers of ten than this are thinned out


def log_label(
    chart: go.Figure,
    x: float,
    y: float,
    text: str,
    *,
    on: str = "xy",
    colour: str = INK,
    size: int = 13,
    **place: object,
) -> None:
    """A label beside a point, left out where the point has no place: `on` says which axes grow by factors."""
    by_factors = [value for value, axis in ((x, "x"), (y, "y")) if axis in on]
    if not all(_has_place(value) for value in by_factors):
        return
    at_x, at_y = (math.log10(value) if axis in on else value for value, axis in ((x, "x"), (y, "y")))
    label(chart, at_x, at_y, text, colour=colour, size=size, **place)


def log_range(values: Iterable[float], *, below: float = 1.0, above: float = 1.0) -> list[float]:
    """The ends of an axis, in powers of ten: `below` times under the least value, `above` times over the largest.

    Values without a place on it count for nothing; without any the axis goes from 1 to 10.
    """
    powers = [math.log10(value) for value in values if _has_place(value)] or [0.0, 1.0]
    return [min(powers) - math.log10(below), max(powers) + math.log10(above)]


def log_ticks(ends: Sequence[float], steps: Sequence[int] = (1,)) -> dict[str, object]:
    """The ticks between these ends, with their words: each power of ten times `steps`, fewer of many powers."""
    low, high = ends
    powers = range(math.ceil(low - 1), math.floor(high) + 1)
    thin = math.ceil(len(powers) / _MOST_POWERS) or 1
    ticks = [step * 10.0**power for power in powers if power % thin == 0 for step in (steps if thin == 1 else (1,))]
    shown = [tick for tick in ticks if low <= math.log10(tick) <= high]
    return {"tickvals": shown, "ticktext": [_tick(tick) for tick in shown]}


def _has_place(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
