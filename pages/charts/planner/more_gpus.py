"""Time per token over the number of accelerators, three ways to use them; all estimated, so all dashed."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds, significant
from inference.planner.deployment import PER_NODE
from inference.planner.more_gpus import COUNTS, WAYS, Use, Way
from pages.charts.factors import log_label, log_range
from pages.charts.palette import CARD, ESTIMATE, INK, figure

HEIGHT = 330
_STYLES: Mapping[Way, tuple[str, int, str, float]] = {
    "pipeline": ("diamond", 13, ESTIMATE, 1.5),
    "replicas": ("square", 7, ESTIMATE, 1.5),
    "tensor parallel": ("circle", 10, INK, 2.5),
}
"""Mark, its size, colour and width of the line, in the order they are drawn: replicas lie on the pipeline."""
_APART = 0.075
"""Least distance of two names at the ends of their lines, of the height of the plot."""


def more_gpus(uses: Sequence[Use]) -> go.Figure:
    """A line per way. A mark is hollow where weights and caches do not fit, and so is the run it stands for."""
    chart = figure(height=HEIGHT, x="accelerators", y="ms per token, estimated")
    highest = max(use.plan.itl_s for use in uses) * 1e3 * 1.12
    for way in _STYLES:
        _line(chart, [use for use in uses if use.way == way])
    _names(chart, uses, highest)
    _second_machine(chart)
    chart.update_layout(margin={"r": 118})
    chart.update_xaxes(
        type="log",
        range=log_range([0.9, max(COUNTS)], above=1.12),
        tickvals=list(COUNTS),
        ticktext=[str(count) for count in COUNTS],
        showgrid=False,
    )
    return chart.update_yaxes(range=[0, highest])


def _line(chart: go.Figure, uses: Sequence[Use]) -> None:
    symbol, size, colour, width = _STYLES[uses[0].way]
    chart.add_scatter(
        x=np.array([use.count for use in uses]),
        y=np.array([use.plan.itl_s * 1e3 for use in uses]),
        mode="lines+markers",
        line={"color": colour, "width": width, "dash": "dash"},
        marker={
            "symbol": symbol,
            "size": size,
            "color": [colour if use.plan.memory.fits else CARD for use in uses],
            "line": {"color": colour, "width": 1.5},
        },
        name=uses[0].way,
        hovertext=[_hover(use, uses[0]) for use in uses],
        hoverinfo="text",
    )


def _hover(use: Use, alone: Use) -> str:
    lines = [
        f"{use.way}, {use.count}: {seconds(use.plan.itl_s)} per token, estimated",
        f"{significant(alone.plan.itl_s / use.plan.itl_s)} times as fast as one",
    ]
    if exchange_s := use.plan.decode.exchange_s + use.plan.hop_s:
        lines.append(f"of it {seconds(exchange_s)} waiting for each other")
    if not use.plan.memory.fits:
        lines.append("does not fit: if it did")
    return "<br>".join(lines)


def _names(chart: go.Figure, uses: Sequence[Use], highest: float) -> None:
    """Each name at the right end of its line, moved apart where the ends meet."""
    ends = sorted(
        ((max((use for use in uses if use.way == way), key=lambda use: use.count)) for way in WAYS),
        key=lambda use: use.plan.itl_s,
    )
    lowest = 0.03
    for use in ends:
        place = max(use.plan.itl_s * 1e3 / highest, lowest)
        lowest = place + _APART
        log_label(
            chart,
            use.count,
            place,
            use.way,
            on="x",
            colour=_STYLES[use.way][2],
            yref="paper",
            xanchor="left",
            yanchor="middle",
            xshift=9,
        )


def _second_machine(chart: go.Figure) -> None:
    """Where the accelerators no longer stand in one machine."""
    border = PER_NODE * math.sqrt(2)
    chart.add_vline(x=border, line={"color": ESTIMATE, "width": 1, "dash": "dot"})
    log_label(
        chart,
        border,
        0,
        "one machine ",
        on="x",
        colour=ESTIMATE,
        size=12,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
    )
