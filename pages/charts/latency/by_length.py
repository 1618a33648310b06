"""Latency against length, with the estimate under it, and the stages of the first token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.estimate import PrefillTerms
from inference.arithmetic.units import seconds
from inference.latency.waterfall import TtftStage
from inference.machine.sweeps import SweepPoint
from inference.trace import Phase
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import COLOURS, DASHED, ESTIMATE, INK, MARKS, PREFILL, figure, label
from pages.charts.quartiles import medians_ms, quartiles_ms

HEIGHT = 330
_ROOM = 0.35  # powers of ten that a name under its line needs above the axis
Terms = Sequence[tuple[int, PrefillTerms]]
Line = Sequence[tuple[int, float]]


def ttft_chart(points: Sequence[SweepPoint], terms: Terms) -> go.Figure:
    """Prefill time by prompt length, and the estimate's three terms, each a dashed line."""
    chart = figure(height=HEIGHT, x="prompt tokens", y="ms, measured", is_empty=not points)
    _measured(chart, points, "prefill")
    for name, line in (
        ("floor", [(n, term.floor_s) for n, term in terms]),
        ("linear: matrices", [(n, term.linear_s) for n, term in terms]),
        ("quadratic: attention", [(n, term.quadratic_s) for n, term in terms]),
    ):
        _estimated(chart, [(n, s) for n, s in line if s > 0], name, width=1.0)
    _estimated(chart, [(n, term.floor_s + term.linear_s + term.quadratic_s) for n, term in terms], "sum", width=2.0)
    _by_factors(chart, points)
    if points:
        _name_terms(chart, terms, least_ms=10 ** (_range(points)[0] + _ROOM))
    return chart


def _name_terms(chart: go.Figure, terms: Terms, *, least_ms: float) -> None:
    """Each term's name under its line, where the other lines are far and the axis with its ticks is not near."""
    if len(terms) < 5:
        return
    for text, line, xanchor in (
        ("floor", [(terms[-1][0], terms[-1][1].floor_s)], "right"),
        ("linear: matrices", [(n, term.linear_s) for n, term in terms[1:]], "left"),
        ("quadratic: attention", [(n, term.quadratic_s) for n, term in terms[-5:]], "left"),
    ):
        high_enough = [(n, value_s * 1e3) for n, value_s in line if value_s * 1e3 >= least_ms]
        if not high_enough:
            continue
        at, value_ms = high_enough[0]
        is_last = at == terms[-1][0]  # a name behind the last point would leave the plot
        log_label(
            chart,
            at,
            value_ms,
            text,
            colour=ESTIMATE,
            size=12,
            xanchor="right" if is_last else xanchor,
            yanchor="top",
            xshift=8 if xanchor == "left" and not is_last else 0,
        )


def itl_chart(points: Sequence[SweepPoint], line: Line) -> go.Figure:
    """Decode time by context length, from zero, so that flat looks flat; the estimate dashed."""
    chart = figure(height=HEIGHT, x="tokens in the cache", y="ms, measured", is_empty=not points)
    _measured(chart, points, "decode")
    _estimated(chart, line, "estimate", width=1.5)
    return chart.update_xaxes(rangemode="tozero").update_yaxes(rangemode="tozero")


def _measured(chart: go.Figure, points: Sequence[SweepPoint], phase: Phase) -> None:
    medians = medians_ms(points)
    chart.add_scatter(
        x=np.array([point.setting.context_len for point in points]),
        y=medians,
        mode="lines+markers",
        line={"color": COLOURS[phase], "width": 2.5},
        marker={"symbol": MARKS[phase], "size": 9},
        error_y=quartiles_ms(points),
        name=f"{phase}, measured",
        hovertext=[_words(point) for point in points],
        hoverinfo="text",
    )


def _words(point: SweepPoint) -> str:
    repeats = ", ".join(seconds(time) for time in point.times_s)
    return (
        f"{point.setting.context_len:,} tokens: {seconds(point.median_s)} measured, median of {len(point.times_s)}"
        f"<br>quartiles {seconds(point.lower_s)} to {seconds(point.upper_s)}<br>{repeats}"
    )


def _estimated(chart: go.Figure, line: Line, name: str, *, width: float) -> None:
    if not line:
        return
    at = np.array([n for n, _ in line])
    chart.add_scatter(
        x=at,
        y=np.array([s * 1e3 for _, s in line]),
        mode="lines",
        line=DASHED | {"width": width},
        name=name,
        hovertemplate=f"{name}: %{{y:.3g}} ms at %{{x:,}} tokens, estimated<extra></extra>",
    )


def _by_factors(chart: go.Figure, points: Sequence[SweepPoint]) -> go.Figure:
    chart.update_xaxes(type="log", dtick=1 if not points else None)
    chart.update_yaxes(type="log", dtick=1)
    if points:
        lengths: list[int] = []
        for point in points:  # a phone has room for one label a factor of four
            if not lengths or point.setting.context_len >= 4 * lengths[-1]:
                lengths.append(point.setting.context_len)
        chart.update_xaxes(tickvals=lengths, ticktext=[f"{length:,}" for length in lengths], showgrid=False)
        ends = _range(points)
        chart.update_yaxes(range=ends, **log_ticks(ends))
    return chart


def _range(points: Sequence[SweepPoint]) -> list[float]:
    return log_range([end * 1e3 for point in points for end in (point.lower_s, point.upper_s)], below=12, above=2)


def waterfall(stages: Sequence[TtftStage]) -> go.Figure:
    """The stages of TTFT, one under the other, each starting where the last ended."""
    chart = figure(height=230, x="ms since the request was sent", y="")
    start = 0.0
    whole = sum(stage.seconds for stage in stages)
    for stage in stages:
        how = "simulated" if stage.is_simulated else "measured"
        chart.add_bar(
            y=[stage.name],
            x=[stage.seconds * 1e3],
            base=[start * 1e3],
            orientation="h",
            marker=_marker(stage),
            name=stage.name,
            hovertext=f"{stage.name}: {seconds(stage.seconds)}, {how}",
            hoverinfo="text",
        )
        start += stage.seconds
        end_ms, words = start * 1e3, seconds(stage.seconds)
        label(chart, end_ms, stage.name, words, colour=ESTIMATE, size=12, xanchor="left", xshift=6)
    chart.update_yaxes(autorange="reversed", showgrid=False, tickfont={"size": 13, "color": INK})
    return chart.update_xaxes(range=[0, whole * 1e3 * 1.18]).update_layout(margin={"l": 130}, bargap=0.35)


def _marker(stage: TtftStage) -> dict[str, object]:
    if stage.is_simulated:
        return {"color": ESTIMATE, "pattern": {"shape": "/", "fgcolor": ESTIMATE, "bgcolor": "rgba(0,0,0,0)"}}
    return {"color": PREFILL if stage.name == "prefill" else INK}
