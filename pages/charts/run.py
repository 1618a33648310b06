"""The charts of one run. Each takes a trace and returns a figure; solid is measured, dashed grey is estimated."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from inference.cost import Work, forward_work, kv_bytes
from inference.roofline import Ceilings, Floors, attainable, floors
from inference.spec import ModelSpec
from inference.trace import Candidate, Phase, Step, Trace
from pages.charts.palette import (
    CARD,
    CLEAR,
    CODE_FONT,
    COLOURS,
    DASHED,
    DECODE,
    ESTIMATE,
    INK,
    MARKS,
    PREFILL,
    figure,
    literal,
)
from pages.charts.tokens import visible
from pages.charts.units import percent, seconds, significant

HEIGHT = 200
MB = 1e6
_PHASES: tuple[Phase, ...] = ("prefill", "decode")
_MAX_BARS = 160  # beyond it, latencies are drawn as one skyline
_MAX_POINTS = 160  # of the roofline; of more passes every n-th is drawn, and the newest
_MAX_COLUMNS = 240  # of the cache map; more positions share a column


@lru_cache(maxsize=4096)
def work_of(spec: ModelSpec, num_query_tokens: int, context_len: int) -> Work:
    return forward_work(spec, num_query_tokens=num_query_tokens, context_len=context_len)


def step_work(trace: Trace, step: Step) -> Work:
    """The estimated work of a measured step."""
    return work_of(trace.metadata.spec, step.num_query_tokens, step.context_len)


def step_floors(trace: Trace, step: Step) -> Floors | None:
    return floors(step_work(trace, step), trace.ceilings) if trace.ceilings else None


def latency_per_pass(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="step", y="ms, measured")
    if trace is None:
        return chart
    for phase in _PHASES:
        steps = [step for step in trace.steps if step.phase == phase]
        if len(steps) > _MAX_BARS:
            _skyline(chart, phase, steps)
        elif steps:
            _bars(chart, phase, steps)
    _floor_marks(chart, trace)
    chart.update_xaxes(range=[0.4, max(20, len(trace.steps)) + 0.6])
    chart.update_yaxes(rangemode="tozero")
    return chart


def _bars(chart: go.Figure, phase: Phase, steps: list[Step]) -> None:
    chart.add_bar(
        x=_numbers(steps),
        y=np.array([step.forward_s * 1e3 for step in steps]),
        marker={"color": COLOURS[phase], "line": {"width": 0}},
        name=phase,
        customdata=np.array([step.index for step in steps]),
        hovertext=[_step_words(step) for step in steps],
        hoverinfo="text",
    )


def _skyline(chart: go.Figure, phase: Phase, steps: list[Step]) -> None:
    """Bars without gaps, as one path: five hundred single ones take the browser a tenth of a second."""
    chart.add_scatter(
        x=_numbers(steps),
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
    for phase in _PHASES:
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


def _numbers(steps: Sequence[Step]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Arrays, not lists: Plotly checks a list item by item, at every drawing."""
    return np.array([step.number for step in steps])


def _step_words(step: Step) -> str:
    token = literal(visible(step.raw))
    return f"step {step.number}, {step.phase}: {token}<br>{seconds(step.forward_s)} for {step.num_query_tokens} in"


def kv_growth(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="step", y="MB, measured")
    if trace is None:
        return chart
    numbers = _numbers(trace.steps)
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


def roofline(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="FLOP per byte, estimated", y="GFLOP/s, measured time")
    ceilings = trace.ceilings if trace else None
    low, high = 0.1, 1000.0
    if ceilings:
        _roofs(chart, ceilings, low, high)
    if trace:
        for phase in _PHASES:
            steps = _thinned([step for step in trace.steps if step.phase == phase])
            works = [step_work(trace, step) for step in steps]
            chart.add_scatter(
                x=np.array([work.intensity for work in works]),
                y=np.array([work.flops / step.forward_s / 1e9 for work, step in zip(works, steps, strict=True)]),
                mode="markers",
                marker={
                    "color": COLOURS[phase],
                    "symbol": MARKS[phase],
                    "size": 10 if phase == "prefill" else 8,
                    "opacity": 1 if phase == "prefill" else 0.5,
                },
                name=phase,
                customdata=np.array([step.index for step in steps]),
                hovertemplate=f"{phase}<br>%{{y:.3g}} GFLOP/s at %{{x:.3g}} FLOP/byte<extra></extra>",
            )
        _name_phases(chart, trace)
    chart.update_xaxes(type="log", range=[math.log10(low), math.log10(high)], dtick=1)
    chart.update_yaxes(type="log", dtick=1)
    return chart


def _thinned(steps: list[Step]) -> list[Step]:
    stride = math.ceil(len(steps) / _MAX_POINTS) or 1
    return steps[::-1][::stride][::-1]


def _roofs(chart: go.Figure, ceilings: Ceilings, low: float, high: float) -> None:
    ridge = ceilings.ridge_point
    at = [low, ridge, high]
    chart.add_scatter(
        x=at,
        y=[attainable(x, ceilings.bandwidth, ceilings.flops) / 1e9 for x in at],
        mode="lines",
        line={"color": INK, "width": 2},
        name="measured roofs",
        hovertemplate="roof: %{y:.3g} GFLOP/s at %{x:.3g} FLOP/byte, measured<extra></extra>",
    )
    chart.add_annotation(
        x=math.log10(ridge),
        y=math.log10(ceilings.flops / 1e9),
        text=f"ridge {significant(ridge, 2)} FLOP/byte",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"size": 12, "color": ESTIMATE},
    )


def _name_phases(chart: go.Figure, trace: Trace) -> None:
    for phase in _PHASES:
        step = next((step for step in reversed(trace.steps) if step.phase == phase), None)
        if step is None:
            continue
        work = step_work(trace, step)
        chart.add_annotation(
            x=math.log10(work.intensity),
            y=math.log10(work.flops / step.forward_s / 1e9),
            text=phase,
            showarrow=False,
            xanchor="left",
            xshift=10,
            font={"size": 12, "color": COLOURS[phase]},
        )


def cache_map(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="position", y="layer")
    if trace is None or not trace.key_norms:
        return chart
    norms, num_prompt = trace.key_norms, len(trace.prompt_tokens)
    num_layers = len(norms[0])
    width = math.ceil(len(norms) / _MAX_COLUMNS)
    top = max(max(column) for column in norms[:num_prompt])
    for phase, start, stop in (("prefill", 0, num_prompt), ("decode", num_prompt, len(norms))):
        if start == stop:
            continue
        columns = [norms[at : min(at + width, stop)] for at in range(start, stop, width)]
        chart.add_heatmap(
            x=[at + (len(group) - 1) / 2 for at, group in zip(range(start, stop, width), columns, strict=True)],
            y=list(range(num_layers)),
            z=np.round([np.mean(group, axis=0) for group in columns], 2).T,
            zmin=0,
            zmax=top,
            colorscale=[[0, CARD], [1, COLOURS[phase]]],
            showscale=False,
            xgap=1 if len(norms) < 80 else 0,
            ygap=0,
            name=phase,
            hovertemplate="position %{x}, layer %{y}<br>key norm %{z:.3g}, measured<extra>" + phase + "</extra>",
        )
    newest = num_prompt if len(norms) == num_prompt else 1
    chart.add_shape(
        type="rect",
        x0=len(norms) - newest - 0.5,
        x1=len(norms) - 0.5,
        y0=-0.5,
        y1=num_layers - 0.5,
        line={"color": INK, "width": 1.5},
        fillcolor=CLEAR,
    )
    chart.update_xaxes(range=[-0.5, max(64, len(norms)) + 0.5], showgrid=False)
    chart.update_yaxes(range=[-0.5, num_layers - 0.5], showgrid=False)
    return chart


def candidates(step: Step | None, *, height: int = HEIGHT, shown: int = 8) -> go.Figure:
    chart = figure(height=height, x="probability, %", y="")
    if step is None:
        return chart
    rows = best_candidates(step, shown)
    phase_colour = COLOURS[step.phase]
    chart.add_bar(
        y=list(range(len(rows))),
        x=[row.probability * 100 for row in rows],
        orientation="h",
        marker={
            "color": [phase_colour if row.is_kept else CLEAR for row in rows],
            "opacity": [1.0 if row.token_id == step.token_id else 0.35 for row in rows],
            "line": {"color": phase_colour, "width": [0 if row.is_kept else 1 for row in rows]},
        },
        text=[percent(row.probability) + ("" if row.is_kept else ", cut") for row in rows],
        textposition="outside",
        textfont={"size": 12, "color": ESTIMATE},
        cliponaxis=False,
        constraintext="none",
        customdata=[row.token_id for row in rows],
        hovertext=[
            f"{literal(visible(row.raw))} (id {row.token_id})<br>model {percent(row.probability)}, "
            f"under these settings {percent(row.sampling_probability)}"
            for row in rows
        ],
        hoverinfo="text",
        name="probability",
    )
    largest = max(row.probability for row in rows) * 100
    chart.update_layout(margin={"l": 96, "r": 12, "t": 0, "b": 4}, bargap=0.3)
    chart.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickmode="array",
        tickvals=list(range(len(rows))),
        ticktext=[literal(_short(visible(row.raw))) for row in rows],
        tickfont={"family": CODE_FONT, "size": 12, "color": INK},
    )
    chart.update_xaxes(range=[0, largest * 1.25], visible=False)
    return chart


def best_candidates(step: Step, shown: int) -> list[Candidate]:
    """The most probable ones, and the chosen token whatever its place."""
    rows = list(step.candidates[:shown])
    chosen = next((row for row in step.candidates if row.token_id == step.token_id), None)
    if chosen is not None and chosen not in rows:
        rows[-1] = chosen
    return rows


def _short(text: str, limit: int = 11) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
