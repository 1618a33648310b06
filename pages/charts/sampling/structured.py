"""What the mask did and what it cost: a bar and two marks for every token of the output."""

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent, seconds
from inference.structure.records import StructuredRun, StructuredStep
from pages.charts.factors import log_label, log_range, log_ticks
from pages.charts.palette import COLOURS, INK, MARKS, figure, literal
from pages.charts.tokens import visible

HEIGHT = 168
COST_HEIGHT = 240
_LEAST_SHARE = 1e-5


def share(mass: float) -> str:
    """A probability for the screen; what is smaller than anyone cares about is said to be so."""
    return percent(mass) if mass == 0 or mass >= _LEAST_SHARE else f"under {_LEAST_SHARE * 100:g} %"


def feasible_mass(run: StructuredRun | None, chosen: int) -> go.Figure:
    """Step `chosen` is outlined; a mark stands where the mask forbade the model's first choice."""
    steps = run.steps if run else ()
    chart = figure(height=HEIGHT, x="token of the output", y="feasible mass, %, measured", is_empty=not steps)
    chart.update_layout(margin={"l": 56, "r": 12, "t": 14, "b": 40})
    chart.update_yaxes(range=[0, 112], tickvals=[0, 50, 100])
    if not steps:
        return chart
    at = np.array([step.index + 1 for step in steps])
    masses = np.array([step.feasible_mass * 100 for step in steps])
    chart.add_bar(
        x=at,
        y=masses,
        marker={
            "color": [COLOURS[step.phase] for step in steps],
            "line": {"color": INK, "width": [2 if step.index == chosen else 0 for step in steps]},
        },
        hovertext=[_hover(step) for step in steps],
        hoverinfo="text",
        name="feasible mass",
    )
    marked = np.array([step.is_overridden for step in steps])
    chart.add_scatter(
        x=at[marked],
        y=np.minimum(masses[marked] + 6, 106),
        mode="markers",
        marker={"symbol": "diamond", "size": 7, "color": INK},
        hoverinfo="skip",
        name="first choice forbidden",
    )
    chart.update_xaxes(range=[0.4, max(len(steps), 8) + 0.6], showgrid=False, tickformat="d", nticks=12)
    return chart


def _hover(step: StructuredStep) -> str:
    lines = [
        f"token {step.index + 1}: {literal(visible(step.raw))}",
        f"feasible mass {share(step.feasible_mass)}, {step.num_allowed:,} tokens allowed",
    ]
    if step.is_overridden:
        best = step.raw_top[0]
        lines.append(f"forbidden: {literal(visible(best.raw))}, {share(best.probability)}")
    return "<br>".join(lines)


def step_costs(run: StructuredRun | None) -> go.Figure:
    """The forward pass and the mask of every token, in milliseconds, by factors of ten."""
    steps = run.steps if run else ()
    chart = figure(height=COST_HEIGHT, x="token of the output", y="ms, measured", is_empty=not steps)
    if not steps:
        return chart
    at = np.array([step.index + 1 for step in steps])
    passes = np.array([step.forward_s for step in steps]) * 1e3
    masks = np.array([step.mask_s for step in steps]) * 1e3
    chart.add_scatter(
        x=at,
        y=passes,
        mode="markers",
        marker={
            "color": [COLOURS[step.phase] for step in steps],
            "symbol": [MARKS[step.phase] for step in steps],
            "size": 7,
        },
        hovertext=[f"token {step.index + 1}: {step.phase}, {seconds(step.forward_s)}" for step in steps],
        hoverinfo="text",
        name="forward pass",
    )
    _name(chart, float(np.median(passes)), "forward pass", COLOURS[steps[-1].phase])
    if masks.all():
        chart.add_scatter(
            x=at,
            y=masks,
            mode="markers",
            marker={"color": INK, "symbol": "diamond", "size": 6},
            hovertext=[f"token {step.index + 1}: mask, {seconds(step.mask_s)}" for step in steps],
            hoverinfo="text",
            name="mask",
        )
        _name(chart, float(np.median(masks)), "mask", INK)
    ends = log_range([*passes.tolist(), *masks.tolist()], below=2, above=2)
    chart.update_xaxes(range=[0.4, max(len(steps), 8) + 0.6], showgrid=False, tickformat="d", nticks=12)
    chart.update_yaxes(type="log", range=ends, **log_ticks(ends))
    chart.update_layout(margin={"l": 56, "r": 88, "t": 8, "b": 40})
    return chart


def _name(chart: go.Figure, value: float, text: str, colour: str) -> None:
    """In the right margin, at the median."""
    log_label(chart, 1, value, text, on="y", colour=colour, size=12, xref="paper", xanchor="left", xshift=6)
