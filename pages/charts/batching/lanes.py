"""A lane per request: waiting, prefill, decode, done; and what each pass carried. All from measured passes."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds
from inference.batching.lanes import State, lanes
from inference.batching.records import ServedPlan
from pages.charts.factors import log_range
from pages.charts.palette import COLOURS, ESTIMATE, INK, MARKS, PHASES, figure, label, literal

HEIGHT, SMALL = 384, 250
_WIDTHS: dict[State, float] = {"waiting": 0.12, "prefill": 0.95, "decode": 0.62}
_FILLS: dict[State, str] = {"waiting": ESTIMATE, **COLOURS}  # type: ignore[dict-item]
_GAP = 0.15


def lanes_chart(arms: Sequence[ServedPlan]) -> go.Figure:
    """One panel per arm over the same seconds; request 1 on top."""
    chart = panels(arms, height=HEIGHT, y="request")
    for number, arm in enumerate(arms):
        _lanes(chart, arm, number)
        count = len(arm.plan.arrivals)
        shown = sorted({1, count} | ({count // 2} if count > 3 else set()))
        chart.update_layout({axis(number): {"range": [count + 0.6, 0.2], "tickvals": shown, "showgrid": False}})
    return chart


def _lanes(chart: go.Figure, arm: ServedPlan, number: int) -> None:
    every = [(place, span) for place, lane in enumerate(lanes(arm), 1) for span in lane]
    for state, width in _WIDTHS.items():
        mine = [(place, span) for place, span in every if span.state == state]
        chart.add_bar(
            y=np.array([place for place, _ in mine]),
            base=np.array([span.start_s for _, span in mine]),
            x=np.array([span.end_s - span.start_s for _, span in mine]),
            orientation="h",
            width=width,
            marker={"color": _FILLS[state], "line": {"width": 0}},
            opacity=min(_lane_px(arm) / 4, 1)
            if state == "waiting"
            else 1,  # lines a pixel apart would fill the panel
            name=f"{arm.plan.name}: {state}",
            hovertext=[
                f"request {place}, {state}: {seconds(span.end_s - span.start_s)}, {span.num_passes} passes"
                for place, span in mine
            ],
            hoverinfo="text",
            yaxis=trace_axis(number),
        )
    _ends(chart, arm, number)


def _lane_px(arm: ServedPlan) -> float:
    """About how high a lane is on the screen."""
    return HEIGHT * 0.35 / len(arm.plan.arrivals)


def _ends(chart: go.Figure, arm: ServedPlan, number: int) -> None:
    """A mark where a request has all its tokens."""
    left = [arrival.output_tokens for arrival in arm.plan.arrivals]
    done = []
    for batch_pass, end_s in zip(arm.passes, arm.ends_s, strict=True):
        for share in batch_pass.shares:
            left[share.request] -= share.token_id is not None
            if not left[share.request]:
                done.append((end_s, share.request + 1))
    chart.add_scatter(
        x=np.array([end_s for end_s, _ in done]),
        y=np.array([place for _, place in done]),
        mode="markers",
        marker={"symbol": "line-ns", "size": min(_lane_px(arm) + 2, 8), "line": {"color": INK, "width": 2}},
        name=f"{arm.plan.name}: done",
        hovertemplate="request %{y}: done after %{x:.3g} s<extra></extra>",
        yaxis=trace_axis(number),
    )


def tokens_chart(arms: Sequence[ServedPlan]) -> go.Figure:
    """Tokens fed by each pass: prompt tokens as squares, decode tokens as circles; the axis grows by factors."""
    chart = panels(arms, height=SMALL, y="tokens")
    most = max(
        (batch_pass.tokens(phase) for arm in arms for batch_pass in arm.passes for phase in PHASES), default=10
    )
    for number, arm in enumerate(arms):
        for phase in PHASES:
            fed = [
                (end_s, batch_pass.tokens(phase))
                for batch_pass, end_s in zip(arm.passes, arm.ends_s, strict=True)
                if batch_pass.tokens(phase)
            ]
            chart.add_scatter(
                x=np.array([end_s for end_s, _ in fed]),
                y=np.array([tokens for _, tokens in fed]),
                mode="markers",
                marker={"symbol": MARKS[phase], "size": 8 if phase == "prefill" else 4, "color": COLOURS[phase]},
                name=f"{arm.plan.name}: {phase}",
                hovertemplate=f"{phase}: %{{y}} tokens in the pass that ended at %{{x:.3g}} s<extra></extra>",
                yaxis=trace_axis(number),
            )
        ticks = [tick for tick in (1, 10, 100, 1000) if tick <= most]
        span = log_range([1, most], below=1.6, above=2.8)
        chart.update_layout({axis(number): {"type": "log", "tickvals": ticks, "range": span}})
    return chart


def blocks_chart(arms: Sequence[ServedPlan]) -> go.Figure:
    """Cache blocks in use during each pass, of those there are."""
    chart = panels(arms, height=SMALL, y="blocks")
    for number, arm in enumerate(arms):
        starts = np.array([0.0, *arm.ends_s])
        used = np.array([batch_pass.blocks for batch_pass in arm.passes])
        chart.add_scatter(
            x=starts,
            y=np.append(used, used[-1:]),
            mode="lines",
            line={"color": INK, "width": 1.5, "shape": "hv"},
            fill="tozeroy",
            fillcolor="rgba(110,107,100,0.18)",
            name=f"{arm.plan.name}: blocks",
            hovertemplate=f"%{{y}} of {arm.plan.num_blocks} blocks at %{{x:.3g}} s<extra></extra>",
            yaxis=trace_axis(number),
        )
        chart.update_layout({axis(number): {"range": [0, arm.plan.num_blocks * 1.3], "nticks": 4}})
    return chart


def panels(
    arms: Sequence[ServedPlan], *, height: int, y: str, x: str = "s of passes, measured", labels: Sequence[str] = ()
) -> go.Figure:
    """Panels one under the other that share the axis of seconds, each with its arm's name and size."""
    is_empty = not any(arm.passes for arm in arms)
    chart = figure(height=height, x=x, y="", is_empty=is_empty)
    plain = chart.layout.yaxis.to_plotly_json()
    count = max(len(arms), 1)
    for number in range(count):
        top = 1 - number / count - (_GAP / 2 if number else 0)
        bottom = 1 - (number + 1) / count + (_GAP / 2 if number < count - 1 else 0)
        title = {"text": y, "font": {"size": 12, "color": ESTIMATE}, "standoff": 4}
        chart.update_layout({axis(number): plain | {"domain": [bottom, top], "anchor": "x", "title": title}})
    longest = max((arm.total_s for arm in arms), default=0.0)
    chart.update_xaxes(anchor=trace_axis(count - 1), range=[0, longest * 1.02 or 1])
    chart.update_layout(barmode="overlay", margin={"l": 48, "r": 12, "t": 22, "b": 40})
    for number, (arm, text) in enumerate(zip(arms, labels or map(_label, arms), strict=True)):
        label(
            chart,
            0,
            1,
            f"<b>{literal(arm.plan.name)}</b>{literal(text)}",
            xref="paper",
            yref=f"{trace_axis(number)} domain",
            xanchor="left",
            yanchor="bottom",
        )
    return chart


def axis(number: int) -> str:
    """The layout's name for the vertical axis of a panel."""
    return f"yaxis{number + 1}" if number else "yaxis"


def trace_axis(number: int) -> str:
    """The traces' name for it."""
    return axis(number).replace("axis", "")


def _label(arm: ServedPlan) -> str:
    return f": {len(arm.passes)} passes, {seconds(arm.total_s)}" if arm.passes else ""
