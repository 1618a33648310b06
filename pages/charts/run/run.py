"""Latency and KV cache of one run. Each chart takes a trace; solid is measured, dashed grey is estimated."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.roofline import Floors, floors
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import seconds
from inference.cost import Work, forward_work, kv_bytes
from inference.trace import Phase, Step, Trace
from pages.charts.palette import (
    CARD,
    COLOURS,
    DASHED,
    DECODE,
    ESTIMATE,
    PHASES,
    PREFILL,
    figure,
    literal,
)
from pages.charts.tokens import visible

HEIGHT = 200
MB = 1e6
_MAX_BARS = 160  # beyond it, latencies are drawn as one skyline


@lru_cache(maxsize=4096)
def work_of(spec: ModelSpec, num_query_tokens: int, context_len: int) -> Work:
    return forward_work(spec, num_query_tokens=num_query_tokens, context_len=context_len)


def step_work(trace: Trace, step: Step) -> Work:
    """The estimated work of a measured step; of one in chunks, of them all: each reads the weights anew."""
    spec, context_len = trace.metadata.spec, step.context_len - step.num_query_tokens
    if not step.chunks:
        return work_of(spec, step.num_query_tokens, step.context_len)
    parts = []
    for chunk in step.chunks:
        context_len += chunk.num_query_tokens
        parts.append(work_of(spec, chunk.num_query_tokens, context_len))
    return Work.of_all(parts)


def step_floors(trace: Trace, step: Step) -> Floors | None:
    return floors(step_work(trace, step), trace.ceilings) if trace.ceilings else None


def latency_per_pass(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="step", y="ms, measured", is_empty=trace is None)
    if trace is None:
        return chart
    for phase in PHASES:
        steps = [step for step in trace.steps if step.phase == phase]
        if len(steps) > _MAX_BARS:
            _skyline(chart, phase, steps)
        elif steps:
            _bars(chart, phase, steps)
    _chunk_marks(chart, trace.steps[:1])
    _floor_marks(chart, trace)
    chart.update_xaxes(range=[0.4, max(20, len(trace.steps)) + 0.6])
    chart.update_yaxes(rangemode="tozero")
    return chart


def _bars(chart: go.Figure, phase: Phase, steps: list[Step]) -> None:
    chart.add_bar(
        x=step_numbers(steps),
        y=np.array([step.forward_s * 1e3 for step in steps]),
        marker={"color": COLOURS[phase], "line": {"width": 0}},
        name=phase,
        customdata=np.array([step.index for step in steps]),
        hovertext=[_step_words(step) for step in steps],
        hoverinfo="text",
    )


def _chunk_marks(chart: go.Figure, steps: Sequence[Step]) -> None:
    """A line in the bar of a prefill at the end of each of its chunks."""
    for step in steps:
        for end_s in list(accumulate(chunk.forward_s for chunk in step.chunks))[:-1]:
            chart.add_shape(
                type="line",
                x0=step.number - 0.4,
                x1=step.number + 0.4,
                y0=end_s * 1e3,
                y1=end_s * 1e3,
                line={"color": CARD, "width": 1.5},
            )


def _skyline(chart: go.Figure, phase: Phase, steps: list[Step]) -> None:
    """Bars without gaps, as one path: five hundred single ones take the browser a tenth of a second."""
    chart.add_scatter(
        x=step_numbers(steps),
        y=np.array([step.forward_s * 1e3 for step in steps]),
        mode="lines",
        line={"color": COLOURS[phase], "width": 1, "shape": "hvh"},
        fill="tozeroy",
        fillcolor=COLOURS[phase],
        name=phase,
        customdata=np.array([step.index for step in steps]),
        hovertemplate=f"step %{{x}}, {phase}: %{{y:.3g}} ms<extra></extra>",
    )


def _floor_marks(chart: go.Figure, trace: Trace) -> None:
    """The estimated floor of every pass: a dash over prefill's bar, a dashed line over decode's."""
    known = [(step, mark) for step in trace.steps if (mark := step_floors(trace, step))]
    for phase in PHASES:
        marks = [(step.number, mark) for step, mark in known if step.phase == phase]
        chart.add_scatter(
            x=np.array([number for number, _ in marks]),
            y=np.array([max(mark.compute_s, mark.memory_s, mark.overhead_s) * 1e3 for _, mark in marks]),
            mode="markers" if len(marks) == 1 else "lines",
            line=DASHED,
            marker={"symbol": "line-ew-open", "size": 14, "color": ESTIMATE, "line": {"width": 1.5}},
            name="estimated floor",
            hovertemplate="floor %{y:.3g} ms, estimated<extra></extra>",
        )


def step_numbers(steps: Sequence[Step]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Arrays, not lists: Plotly checks a list item by item, at every drawing."""
    return np.array([step.number for step in steps])


def _step_words(step: Step) -> str:
    token = literal(visible(step.raw))
    chunks = f", in {len(step.chunks)} chunks" if step.chunks else ""
    return (
        f"step {step.number}, {step.phase}: {token}<br>"
        f"{seconds(step.forward_s)} for {step.num_query_tokens} in{chunks}"
    )


def kv_growth(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="step", y="MB, measured", is_empty=trace is None)
    if trace is None:
        return chart
    numbers = step_numbers(trace.steps)
    measured = np.array([step.kv_bytes / MB for step in trace.steps])
    chart.add_bar(
        x=numbers[:1], y=measured[:1], width=0.5, marker={"color": PREFILL}, hoverinfo="skip", name="prefill"
    )
    chart.add_scatter(
        x=numbers,
        y=measured,
        mode="lines+markers" if len(numbers) < 2 else "lines",
        line={"color": DECODE, "width": 3.5, "shape": "hv"},
        fill="tozeroy",
        fillcolor="rgba(0,114,178,0.10)",
        name="measured",
        customdata=np.array([step.context_len for step in trace.steps]),
        hovertemplate="step %{x}: %{y:.4g} MB measured, %{customdata} tokens<extra></extra>",
    )
    spec = trace.metadata.spec
    formula = np.array([kv_bytes(spec, context_len=step.context_len) / MB for step in trace.steps])
    chart.add_scatter(
        x=numbers,
        y=formula,
        mode="lines",
        line=DASHED | {"shape": "hv"},
        name="formula",
        hovertemplate="formula: %{y:.4g} MB<extra></extra>",
    )
    chart.update_xaxes(range=[0.4, max(20, len(numbers)) + 0.6])
    chart.update_yaxes(rangemode="tozero")
    return chart
