"""What batching does to latencies: gaps while a prompt comes in, a decode step by batch, prompts together."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.metrics import itl_s, ttft_s
from inference.arithmetic.units import seconds, significant
from inference.batching.cost import BatchCost, tokens_per_s
from inference.batching.lanes import requests_seen
from inference.batching.prefill import Batched
from inference.batching.records import ServedPlan
from inference.machine.sweeps import SweepPoint
from pages.charts.batching.lanes import axis, panels, trace_axis
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import DASHED, DECODE, ESTIMATE, MARKS, PREFILL, figure
from pages.charts.quartiles import medians_ms, quartiles_ms

HEIGHT, GAPS = 300, 360


def gaps_chart(arms: Sequence[ServedPlan]) -> go.Figure:
    """Every gap of the running streams, a panel per arm; shaded while the newcomer waits for its first token."""
    seen = [requests_seen(arm) for arm in arms]
    labels = [
        f": newcomer's TTFT {seconds(ttft_s(requests[-1]))}" if requests and requests[-1] else ""
        for requests in seen
    ]
    chart = panels(arms, height=GAPS, y="ms", labels=labels)
    most = max((gap for each in seen for stream in each[:-1] if stream for gap in itl_s(stream)), default=0.001)
    for number, requests in enumerate(seen):
        streams = [stream for stream in requests[:-1] if stream]
        here = trace_axis(number)
        chart.add_scatter(
            x=np.array([time_s for stream in streams for time_s in stream.token_times_s[1:]]),
            y=np.array([gap * 1e3 for stream in streams for gap in itl_s(stream)]),
            mode="markers",
            marker={"symbol": MARKS["decode"], "size": 6, "color": DECODE},
            name=f"{arms[number].plan.name}: ITL",
            hovertemplate="ITL %{y:.3g} ms, measured, at %{x:.3g} s<extra></extra>",
            yaxis=here,
        )
        newcomer = requests[-1] if requests else None
        if newcomer:
            x0, x1 = newcomer.sent_s, newcomer.token_times_s[0]
            chart.add_shape(
                type="rect",
                x0=x0,
                x1=x1,
                y0=0,
                y1=1,
                yref=f"{here} domain",
                fillcolor=PREFILL,
                opacity=0.16,
                line_width=0,
                layer="below",
            )
        chart.update_layout({axis(number): {"range": [0, most * 1e3 * 1.25], "nticks": 5}})
    return chart


def time_by_batch(points: Sequence[SweepPoint], costs: Sequence[BatchCost], crossover: float | None) -> go.Figure:
    """Time of a decode step by batch, over the floors of reading the weights and of arithmetic."""
    chart = figure(height=HEIGHT, x="sequences in the batch", y="ms a pass, measured", is_empty=not points)
    _by_batch(chart, points, medians_ms(points), quartiles_ms(points))
    for name, values in (
        ("weights, read once", [cost.weights_s for cost in costs]),
        ("arithmetic", [cost.arithmetic_s for cost in costs]),
    ):
        chart.add_scatter(
            x=np.array([cost.batch_size for cost in costs]),
            y=np.array(values) * 1e3,
            mode="lines",
            line=DASHED,
            name=name,
            hovertemplate=f"{name}: %{{y:.3g}} ms, estimated<extra></extra>",
        )
    if costs:
        _label(chart, costs[0].batch_size, costs[0].weights_s, "weights, read once", "left")
        _label(chart, costs[-1].batch_size, costs[-1].arithmetic_s, "arithmetic", "center")
    if crossover and points and crossover <= points[-1].setting.batch_size:
        chart.add_vline(x=crossover, line=DASHED)
        highest = max(point.upper_s for point in points)
        _label(chart, crossover, highest, f"batch {significant(crossover, 2)}, estimated", "right")
    return chart.update_yaxes(rangemode="tozero")


def rate_by_batch(points: Sequence[SweepPoint]) -> go.Figure:
    """Tokens per second of all sequences together."""
    chart = figure(height=HEIGHT, x="sequences in the batch", y="tokens/s in all, measured", is_empty=not points)
    _by_batch(chart, points, np.array([tokens_per_s(point) for point in points]), None)
    return chart.update_yaxes(rangemode="tozero")


def _by_batch(
    chart: go.Figure,
    points: Sequence[SweepPoint],
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    error: dict[str, object] | None,
) -> None:
    sizes = [point.setting.batch_size for point in points]
    chart.add_scatter(
        x=np.array(sizes),
        y=values,
        mode="lines+markers",
        line={"color": DECODE, "width": 2.5},
        marker={"symbol": MARKS["decode"], "size": 9},
        error_y=error,
        name="decode, measured",
        hovertext=[
            f"batch {point.setting.batch_size}: {seconds(point.median_s)} a pass, "
            f"{significant(tokens_per_s(point))} tokens/s, median of {len(point.times_s)}"
            for point in points
        ],
        hoverinfo="text",
    )
    chart.update_xaxes(type="log", tickvals=sizes, ticktext=[str(size) for size in sizes], showgrid=False)


def together_chart(batches: Sequence[Batched]) -> go.Figure:
    """Until every prompt has its first token: in one pass, and one after another."""
    lines = {
        "one after another": [batch.in_turn_s for batch in batches],
        "in one pass": [batch.together.median_s for batch in batches],
    }
    return _by_length(batches, lines, y="ms until all have a token, measured")


def mean_ttft_chart(batches: Sequence[Batched]) -> go.Figure:
    """Mean TTFT of the prompts: in one pass everybody waits for everybody."""
    lines = {
        "one after another": [batch.ttft_in_turn_s for batch in batches],
        "in one pass": [batch.together.median_s for batch in batches],
    }
    return _by_length(batches, lines, y="ms mean TTFT, measured")


def _by_length(batches: Sequence[Batched], lines: dict[str, list[float]], *, y: str) -> go.Figure:
    chart = figure(height=HEIGHT, x="tokens in each prompt", y=y, is_empty=not batches)
    lengths = [batch.num_tokens for batch in batches]
    for name, values in lines.items():
        is_together = name == "in one pass"
        chart.add_scatter(
            x=np.array(lengths),
            y=np.array(values) * 1e3,
            mode="lines+markers",
            line={"color": PREFILL, "width": 2.5 if is_together else 1.5},
            marker={"symbol": MARKS["prefill"] + ("" if is_together else "-open"), "size": 9},
            name=name,
            hovertemplate=f"{name}: %{{y:.3g}} ms at %{{x}} tokens<extra></extra>",
        )
    if not batches:
        return chart
    high = sorted(((values[0], name) for name, values in lines.items()), reverse=True)
    for (value, name), anchor in zip(high, ("bottom", "top"), strict=True):
        log_label(
            chart,
            lengths[0],
            value * 1e3,
            name,
            xanchor="left",
            yanchor=anchor,
            yshift=8 if anchor == "bottom" else -8,
        )
    ends = [value * 1e3 for values in lines.values() for value in values]
    span = log_range(ends, below=1.6, above=2)
    chart.update_yaxes(type="log", range=span, **log_ticks(span, (1, 3)))
    return chart.update_xaxes(type="log", tickvals=lengths, ticktext=[f"{n:,}" for n in lengths], showgrid=False)


def _label(chart: go.Figure, batch: float, at_s: float, text: str, anchor: str) -> None:
    log_label(
        chart,
        batch,
        at_s * 1e3,
        text,
        on="x",
        colour=ESTIMATE,
        size=12,
        xanchor=anchor,
        xshift={"left": 4, "right": -4}.get(anchor, 0),
        yanchor="bottom",
    )
