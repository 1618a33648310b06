"""Speculation: its rounds and the steps of plain decoding over the same seconds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds
from inference.speculation.records import Repeat, Speculated
from pages.charts.palette import CARD, DECODE, INK, figure, label, literal

HEIGHT = 300
_LANE = 2.2  # tokens between the axis of the rounds and the foot of the plain steps
_REJECTED = 0.13  # opacity
_HATCHED = {"shape": "/", "fillmode": "overlay", "fgcolor": CARD, "size": 6, "solidity": 0.3}
_Numbers = np.ndarray[tuple[int], np.dtype[Any]]


def rounds_chart(run: Speculated | None, labels: Sequence[Sequence[str]] = ()) -> go.Figure:
    """A block for each pass: as wide as it took, as high as its tokens. `labels`: lines to say of each round."""
    chart = figure(height=HEIGHT, x="seconds of decoding, measured", y="tokens", is_empty=run is None)
    if run is None:
        return chart
    repeat, most = run.repeats[0], run.request.num_drafted + 1
    ends = np.cumsum([round_.total_s for round_ in repeat.rounds])
    widths = np.array([round_.total_s for round_ in repeat.rounds])
    accepted = np.array([round_.num_accepted for round_ in repeat.rounds])
    own = np.array([round_.token_id is not None for round_ in repeat.rounds], dtype=int)
    fallen = np.array([len(round_.drafted) - round_.num_accepted for round_ in repeat.rounds])
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
    label(
        chart,
        x,
        y + 0.5 if is_late else y,
        words,
        xanchor="right" if is_late else "left",
        xshift=0 if is_late else 8,
        yanchor="bottom" if is_late else "middle",
    )
