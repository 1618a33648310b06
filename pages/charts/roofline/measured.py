"""The roofline of the lab: measured passes under this machine's roofs, with a datasheet's dashed over them."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Ceilings, attainable
from inference.arithmetic.units import scaled, seconds, significant
from inference.machine.placed import Placed
from inference.machine.placed import words as pass_words
from inference.trace import Phase
from pages.charts.factors import log_label, log_range
from pages.charts.palette import CARD, COLOURS, ESTIMATE, INK, MARKS, PHASES, figure, literal
from pages.charts.run.explained import shares, verdict

HEIGHT = 380
_GIGA = 1e9
_MAX_POINTS = 200  # of more points every n-th is drawn, and the last
_LOW, _HIGH = 0.1, 2000.0  # FLOP per byte
Place = tuple[str, str, int, int]
"""Of a label at its point: anchors and shift in pixels, x and y."""
_ABOVE: Place = ("right", "bottom", 0, 0)
_BELOW: Place = ("left", "top", 8, -3)
_FIRST: dict[Phase, Place] = {"prefill": ("right", "middle", -9, 0), "decode": _BELOW}
_LAST: dict[Phase, Place] = {"prefill": ("center", "top", 0, -12), "decode": ("left", "top", 8, -9)}


def lab_roofline(
    placed: Sequence[Placed], roofs: Sequence[Ceilings], sheet: Hardware | None = None, dtypes: Sequence[str] = ()
) -> go.Figure:
    """`roofs`: measured ones that can be believed, the points' own dtype first; `dtypes`: a datasheet's to draw."""
    is_empty = not (placed or roofs or sheet)
    chart = figure(
        height=HEIGHT, x="FLOP per byte, estimated", y="GFLOP/s: estimated FLOPs, measured time", is_empty=is_empty
    )
    if sheet:
        _datasheet(chart, sheet, dtypes)
    for place, ceilings in enumerate(roofs):
        _roof(chart, ceilings, is_first=place == 0)
    shown = {
        phase: thinned([placed_pass for placed_pass in placed if placed_pass.point.setting.phase == phase])
        for phase in PHASES
    }
    if roofs:
        _overhead_roof(chart, shown, roofs[0])
    for phase, points in shown.items():
        if points:
            _points(chart, phase, points, roofs[0] if roofs else None)
    chart.update_xaxes(type="log", range=log_range([_LOW, _HIGH]), dtick=1)
    rates = np.array(_rates(placed, roofs, sheet, dtypes)) / _GIGA
    chart.update_yaxes(type="log", range=log_range(rates.tolist(), below=3, above=3), dtick=1)
    return chart


def thinned(points: Sequence[Placed]) -> list[Placed]:
    stride = math.ceil(len(points) / _MAX_POINTS) or 1
    return list(points[::-1][::stride][::-1])


def _rates(
    placed: Sequence[Placed], roofs: Sequence[Ceilings], sheet: Hardware | None, dtypes: Sequence[str]
) -> list[float]:
    """FLOP/s that the drawing must hold."""
    rates = [placed_pass.rate for placed_pass in placed]
    rates += [roof.flops for roof in roofs] + [roof.bandwidth * _LOW for roof in roofs]
    if sheet:
        rates += [sheet.peak_flops[dtype] for dtype in dtypes if dtype in sheet.peak_flops] or [
            sheet.bandwidth * 100
        ]
    return rates or [3e9, 3e11]


def _roof(chart: go.Figure, ceilings: Ceilings, *, is_first: bool) -> None:
    ridge = ceilings.ridge_point
    at = np.array([_LOW, ridge, _HIGH])
    rates = [attainable(x, ceilings.bandwidth, ceilings.flops) / _GIGA for x in at]
    dtype = literal(ceilings.dtype)
    chart.add_scatter(
        x=at,
        y=np.array(rates),
        mode="lines",
        line={"color": INK, "width": 2 if is_first else 1.2},
        name=f"measured roofs, {dtype}",
        hovertemplate=f"roof in {dtype}: %{{y:.3g}} GFLOP/s at %{{x:.3g}} FLOP/byte, measured<extra></extra>",
    )
    compute = f"{scaled(ceilings.flops, 'FLOP/s')} {dtype}, measured"
    _label(chart, (_HIGH, rates[-1]), compute, INK, _ABOVE)
    if is_first:
        memory = f"{scaled(ceilings.bandwidth, 'B/s')} read, measured"
        _label(chart, (_LOW, rates[0]), memory, INK, ("left", "top", 24, -6))
        _ridge(chart, ridge)


def _ridge(chart: go.Figure, ridge: float) -> None:
    """Named at the foot of the drawing, where no pass lies."""
    chart.add_vline(x=ridge, line={"color": ESTIMATE, "width": 1, "dash": "dot"}, layer="below")
    words = f"ridge {significant(ridge, 2)} FLOP/byte"
    log_label(chart, ridge, 0, words, on="x", size=12, yref="paper", xanchor="left", yanchor="bottom", xshift=4)


def _datasheet(chart: go.Figure, sheet: Hardware, dtypes: Sequence[str]) -> None:
    """Its memory roof up to the highest sourced peak, and each sourced peak from its ridge on; dashed."""
    peaks = {dtype: sheet.peak_flops[dtype] for dtype in dtypes if dtype in sheet.peak_flops}
    name = literal(sheet.name)
    top = max(peaks.values()) / sheet.bandwidth if peaks else _HIGH
    lines = [("memory", np.array([_LOW, top]))]
    lines += [(dtype, np.array([peak / sheet.bandwidth, _HIGH])) for dtype, peak in peaks.items()]
    for what, at in lines:
        flops = peaks.get(what, math.inf)
        rates = np.minimum(at * sheet.bandwidth, flops) / _GIGA
        chart.add_scatter(
            x=at,
            y=rates,
            mode="lines",
            line={"color": ESTIMATE, "width": 1.5, "dash": "dash"},
            name=f"{name}, {what}",
            hovertemplate=f"{name}, {what}: %{{y:.3g}} GFLOP/s at %{{x:.3g}} FLOP/byte, datasheet<extra></extra>",
        )
    for dtype, peak in peaks.items():
        words = f"{scaled(peak, 'FLOP/s')} {dtype}, datasheet"
        _label(chart, (_HIGH, peak / _GIGA), words, ESTIMATE, _ABOVE)


def _overhead_roof(chart: go.Figure, shown: dict[Phase, list[Placed]], ceilings: Ceilings) -> None:
    """What each of these passes reaches if it takes the overhead and no longer, joined along each phase."""
    for points in shown.values():
        along = sorted(points, key=lambda placed_pass: placed_pass.work.intensity)
        chart.add_scatter(
            x=np.array([placed_pass.work.intensity for placed_pass in along]),
            y=np.array([placed_pass.overhead_roof(ceilings) / _GIGA for placed_pass in along]),
            mode="lines",
            line={"color": INK, "width": 1.2, "dash": "dot"},
            name="overhead roof",
            hovertemplate=f"overhead roof: %{{y:.3g}} GFLOP/s if a pass takes {seconds(ceilings.overhead_s)}, "
            "measured overhead<extra></extra>",
        )
    lowest = min(
        (placed_pass for points in shown.values() for placed_pass in points),
        key=lambda placed_pass: placed_pass.work.intensity,
        default=None,
    )
    if lowest:
        start = (lowest.work.intensity, lowest.overhead_roof(ceilings) / _GIGA)
        _label(chart, start, f"overhead<br>{seconds(ceilings.overhead_s)}", INK, ("right", "middle", -5, 0))


def _points(chart: go.Figure, phase: Phase, points: list[Placed], ceilings: Ceilings | None) -> None:
    rates = np.array([placed_pass.rate for placed_pass in points]) / _GIGA
    fastest = np.array([placed_pass.work.flops / placed_pass.point.lower_s for placed_pass in points]) / _GIGA
    slowest = np.array([placed_pass.work.flops / placed_pass.point.upper_s for placed_pass in points]) / _GIGA
    chart.add_scatter(
        x=np.array([placed_pass.work.intensity for placed_pass in points]),
        y=rates,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": fastest - rates,
            "arrayminus": rates - slowest,
            "color": COLOURS[phase],
            "thickness": 1.2,
            "width": 3,
        },
        mode="markers",
        marker={"color": COLOURS[phase], "symbol": MARKS[phase], "size": 9, "line": {"color": CARD, "width": 1}},
        name=phase,
        hovertext=[_hover(placed_pass, ceilings) for placed_pass in points],
        hoverinfo="text",
    )
    for placed_pass, side in zip(points[:1] + points[1:][-1:], (_FIRST, _LAST), strict=False):
        setting = placed_pass.point.setting
        size = _tokens(setting.num_query_tokens) if phase == "prefill" else f"batch {setting.batch_size}"
        text = size if side is _FIRST else f"{phase}, {size}"
        _label(chart, (placed_pass.work.intensity, placed_pass.rate / _GIGA), text, COLOURS[phase], side[phase])


def _tokens(number: int) -> str:
    return f"{number:,} token{'s' * (number > 1)}"


def _hover(placed_pass: Placed, ceilings: Ceilings | None) -> str:
    point = placed_pass.point
    lines = [
        f"{pass_words(point.setting)}: {scaled(placed_pass.rate, 'FLOP/s')} at "
        f"{significant(placed_pass.work.intensity)} FLOP/byte",
        f"{seconds(point.median_s)}, quartiles {seconds(point.lower_s)} to {seconds(point.upper_s)}, "
        f"{len(point.times_s)} passes",
    ]
    if ceilings:
        explained = placed_pass.explained(ceilings)
        lines.append(f"{verdict(explained)}: {shares(explained)} of its time, estimated")
    return "<br>".join(lines)


def _label(chart: go.Figure, at: tuple[float, float], text: str, colour: str, place: Place) -> None:
    """Words beside a point of the logarithmic axes."""
    x_anchor, y_anchor, x_shift, y_shift = place
    log_label(
        chart,
        *at,
        text,
        colour=colour,
        size=12,
        xanchor=x_anchor,
        yanchor=y_anchor,
        xshift=x_shift,
        yshift=y_shift,
    )
