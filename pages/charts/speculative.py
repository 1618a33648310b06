"""Speculation: rounds and plain steps over the same seconds; tokens and time of a pass by the number of drafts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from inference.acceptance import expected_tokens
from inference.speculative import Repeat, Speculated, pass_times
from pages.charts.palette import CARD, DASHED, DECODE, ESTIMATE, INK, figure, literal
from pages.charts.units import seconds, significant

ROUNDS_HEIGHT, SIZES_HEIGHT = 300, 290
_LANE = 2.2  # tokens between the axis of the rounds and the foot of the plain steps
_REJECTED = 0.13  # opacity
_HATCHED = {"shape": "/", "fillmode": "overlay", "fgcolor": CARD, "size": 6, "solidity": 0.3}
_Numbers = np.ndarray[tuple[int], np.dtype[Any]]


def rounds_chart(run: Speculated | None, labels: Sequence[Sequence[str]] = ()) -> go.Figure:
    """A block for each pass: as wide as it took, as high as its tokens. `labels`: lines to say of each round."""
    chart = figure(height=ROUNDS_HEIGHT, x="seconds of decoding, measured", y="tokens", is_empty=run is None)
    if run is None:
        return chart
    repeat, most = run.repeats[0], run.request.num_drafted + 1
    ends = np.cumsum([one.total_s for one in repeat.rounds])
    widths = np.array([one.total_s for one in repeat.rounds])
    accepted = np.array([one.num_accepted for one in repeat.rounds])
    own = np.array([one.token_id is not None for one in repeat.rounds], dtype=int)
    fallen = np.array([len(one.drafted) - one.num_accepted for one in repeat.rounds])
    for name, heights, base, marker in (
        ("accepted", accepted, np.zeros_like(accepted), {"color": DECODE}),
        ("the model's own token", own, accepted, {"color": DECODE, "pattern": _HATCHED}),
        ("drafted for nothing", fallen, accepted + own, {"color": INK, "opacity": _REJECTED}),
    ):
        _blocks(
            chart,
            name,
            ends=ends,
            widths=widths,
            heights=heights,
            base=base,
            marker=marker,
            words=["<br>".join(map(literal, lines)) for lines in labels],
        )
    _plain(chart, repeat)
    longest = max(float(ends[-1]), sum(repeat.plain_s))
    _end(chart, float(ends[-1]), 0.5, f"{len(repeat.tokens)} tokens in {seconds(float(ends[-1]))}", longest)
    plain_s = sum(repeat.plain_s)
    _end(chart, plain_s, 0.5 - _LANE, f"plainly: {len(repeat.plain_s)} in {seconds(plain_s)}", longest)
    step = max(most // 4, 1)
    chart.update_xaxes(range=[0, longest * 1.02], showgrid=False)
    chart.update_yaxes(range=[-_LANE - 0.3, most + 0.8], tickvals=np.arange(0, most + 1, step))
    return chart


def _plain(chart: go.Figure, repeat: Repeat) -> None:
    widths = np.array(repeat.plain_s)
    words = [f"plain step {place}: 1 token in {seconds(time_s)}" for place, time_s in enumerate(repeat.plain_s, 1)]
    foot = np.full_like(widths, -_LANE)
    marker: dict[str, object] = {"color": DECODE, "pattern": _HATCHED}
    _blocks(
        chart,
        "plain",
        ends=np.cumsum(widths),
        widths=widths,
        heights=np.ones_like(widths),
        base=foot,
        marker=marker,
        words=words,
    )


def _blocks(
    chart: go.Figure,
    name: str,
    *,
    ends: _Numbers,
    widths: _Numbers,
    heights: _Numbers,
    base: _Numbers,
    marker: Mapping[str, object],
    words: Sequence[str],
) -> None:
    chart.add_bar(
        x=ends - widths / 2,
        y=heights,
        base=base,
        width=widths,
        name=name,
        marker={**marker, "line": {"color": CARD, "width": 1}},
        hovertext=list(words),
        hoverinfo="text" if words else "skip",
    )
    chart.update_layout(barmode="overlay", bargap=0)


def _end(chart: go.Figure, x: float, y: float, words: str, longest: float) -> None:
    """Behind the last block where there is room, else above it."""
    is_late = x > longest * 0.6
    chart.add_annotation(
        x=x,
        y=y + 0.5 if is_late else y,
        text=words,
        showarrow=False,
        xanchor="right" if is_late else "left",
        xshift=0 if is_late else 8,
        yanchor="bottom" if is_late else "middle",
        font={"size": 13, "color": INK},
    )


def tokens_chart(runs: Sequence[Speculated]) -> go.Figure:
    """Tokens per pass against the number of drafts a round: measured, and by the formula."""
    chart = figure(
        height=SIZES_HEIGHT, x="drafts a round at most, k", y="tokens per pass, measured", is_empty=not runs
    )
    if not runs:
        return chart
    sizes = np.array([run.request.num_drafted for run in runs])
    measured = np.array([run.tokens_per_pass for run in runs])
    expected = [expected_tokens(run.acceptance, run.request.num_drafted) for run in runs]
    chart.add_scatter(x=sizes, y=np.array(expected), mode="lines", line=DASHED, name="expected", hoverinfo="skip")
    chart.add_scatter(
        x=sizes,
        y=np.array([run.expected_tokens for run in runs]),
        mode="markers",
        marker={"symbol": "x-thin", "size": 16, "line": {"color": ESTIMATE, "width": 1.5}},
        name="expected with the drafts found",
        hoverinfo="skip",
    )
    chart.add_scatter(
        x=sizes,
        y=measured,
        mode="lines+markers",
        line={"color": DECODE, "width": 2.5},
        marker={"size": 8},
        name="measured",
        hovertext=[
            f"{run.request.num_drafted} drafts a round: {significant(run.tokens_per_pass)} tokens per pass<br>"
            f"expected {significant(wanted)} at an acceptance of {significant(run.acceptance, 2)}, "
            f"{significant(run.expected_tokens)} with the drafts found"
            for run, wanted in zip(runs, expected, strict=True)
        ],
        hoverinfo="text",
    )
    highest = max(float(measured.max()), *expected)
    is_lower = measured[-1] < expected[-1]
    _name(chart, sizes, "expected", y=expected[-1], side="bottom" if is_lower else "top", colour=ESTIMATE)
    _name(chart, sizes, "measured", y=float(measured[-1]), side="top" if is_lower else "bottom", colour=DECODE)
    _by_factors(chart, sizes)
    chart.update_yaxes(range=[0, highest * 1.18])
    return chart


def times_chart(runs: Sequence[Speculated], estimated_s: Mapping[int, float]) -> go.Figure:
    """Time of a pass against the tokens fed: median and quartiles; estimates where there are roofs."""
    chart = figure(height=SIZES_HEIGHT, x="tokens fed in a pass, k + 1", y="ms for the pass, measured", is_empty=not runs)
    if not runs:
        return chart
    times = pass_times(runs)
    fed = np.array(list(times))
    medians = np.array([np.median(found) for found in times.values()]) * 1e3
    low, high = (np.array([np.quantile(found, share) for found in times.values()]) * 1e3 for share in (0.25, 0.75))
    if estimated_s:
        at = np.array(sorted(estimated_s))
        values = np.array([estimated_s[int(size)] for size in at]) * 1e3
        chart.add_scatter(x=at, y=values, mode="lines", line=DASHED, name="estimated", hoverinfo="skip")
    chart.add_scatter(
        x=fed,
        y=medians,
        mode="lines+markers",
        line={"color": DECODE, "width": 2.5},
        marker={"size": 8},
        error_y={"array": high - medians, "arrayminus": medians - low, "thickness": 1.2, "width": 4},
        name="measured",
        hovertext=[
            f"{size} tokens fed: {seconds(middle / 1e3)}, {significant(middle / medians[0])} times a plain step<br>"
            f"{len(found)} passes"
            for size, middle, found in zip(times, medians, times.values(), strict=True)
        ],
        hoverinfo="text",
    )
    times_as_long = f"measured: {significant(medians[-1] / medians[0])} times a plain step"
    _name(chart, fed, times_as_long, y=float(high.max()), side="bottom", colour=DECODE)
    if estimated_s:
        _name(chart, at, "estimated", y=float(values[-1]), side="top", colour=ESTIMATE)
    _by_factors(chart, fed)
    chart.update_yaxes(range=[0, max(float(high.max()), max(estimated_s.values(), default=0) * 1e3) * 1.18])
    return chart


def _by_factors(chart: go.Figure, sizes: _Numbers) -> None:
    ticks = [int(size) for size in sizes if size in (1, 2, 3, 5, 9, 17, 25) or size in (4, 8, 16, 24)]
    chart.update_xaxes(
        type="log",
        range=[float(np.log10(sizes[0] / 1.15)), float(np.log10(sizes[-1] * 1.15))],
        tickvals=ticks,
        ticktext=[f"{tick}" for tick in ticks],
        showgrid=False,
    )


def _name(
    chart: go.Figure,
    x: _Numbers,
    words: str,
    *,
    y: float,
    side: str,
    colour: str,
) -> None:
    chart.add_annotation(
        x=float(np.log10(x[-1])),
        y=y,
        text=words,
        showarrow=False,
        xanchor="right",
        yanchor=side,
        yshift=7 if side == "bottom" else -7,
        font={"size": 13, "color": colour},
    )
