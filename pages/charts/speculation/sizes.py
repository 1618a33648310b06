"""Speculation by the number of drafts a round: tokens of a pass, and its time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds, significant
from inference.speculation.acceptance import expected_tokens
from inference.speculation.records import Speculated, pass_times
from pages.charts.factors import log_label, log_range
from pages.charts.palette import DASHED, DECODE, ESTIMATE, figure

HEIGHT = 290
_Numbers = np.ndarray[tuple[int], np.dtype[Any]]


def tokens_chart(runs: Sequence[Speculated]) -> go.Figure:
    """Tokens per pass against the number of drafts a round: measured, and by the formula."""
    chart = figure(height=HEIGHT, x="drafts a round at most, k", y="tokens per pass, measured", is_empty=not runs)
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
    chart = figure(height=HEIGHT, x="tokens fed in a pass, k + 1", y="ms for the pass, measured", is_empty=not runs)
    if not runs:
        return chart
    times = pass_times(runs)
    fed = np.array(list(times))
    medians = np.array([np.median(took_s) for took_s in times.values()]) * 1e3
    low, high = (
        np.array([np.quantile(took_s, share) for took_s in times.values()]) * 1e3 for share in (0.25, 0.75)
    )
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
            f"{len(took_s)} passes"
            for size, middle, took_s in zip(times, medians, times.values(), strict=True)
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
        range=log_range([sizes[0], sizes[-1]], below=1.15, above=1.15),
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
    log_label(
        chart,
        float(x[-1]),
        y,
        words,
        on="x",
        colour=colour,
        xanchor="right",
        yanchor=side,
        yshift=7 if side == "bottom" else -7,
    )
