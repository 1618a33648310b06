"""What each kind of module takes of a pass: measured bars, and the share that FLOPs and bytes alone would give."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent, seconds
from inference.machine.module_hooks import GROUPS
from inference.machine.probes import ProbedPass
from inference.trace import Phase
from pages.charts.palette import COLOURS, ESTIMATE, figure, label

HEIGHT = 330
NAMES = (*GROUPS, "the rest")


def shares(probed: ProbedPass) -> tuple[float, ...]:
    """Of the hooked pass, by NAMES."""
    times_s = [*(group.median_s for group in probed.groups), max(probed.rest_s, 0.0)]
    return tuple(time_s / sum(times_s) for time_s in times_s)


def module_shares(passes: Sequence[ProbedPass], estimated: Mapping[Phase, Mapping[str, float]]) -> go.Figure:
    """`estimated`: by phase and group, the share of the time at the roofs; what is not counted is missing."""
    chart = figure(height=HEIGHT, x="% of the pass, measured", y="", is_empty=not passes)
    rows: list[tuple[float, str]] = []
    for place, probed in enumerate(passes):
        first = place * (len(NAMES) + 1)
        at = np.arange(first, first + len(NAMES))
        measured = np.array(shares(probed)) * 100
        times_s = [*(group.median_s for group in probed.groups), probed.rest_s]
        chart.add_bar(
            x=measured,
            y=at,
            orientation="h",
            marker={"color": COLOURS[probed.phase], "line": {"width": 0}},
            name=probed.phase,
            text=[seconds(max(time_s, 0.0)) for time_s in times_s],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"{probed.phase}, {name}: {seconds(max(time_s, 0.0))}, {percent(share / 100)} of the pass, measured"
                for name, time_s, share in zip(NAMES, times_s, measured, strict=True)
            ],
            hoverinfo="text",
        )
        guess = estimated.get(probed.phase, {})
        chart.add_scatter(
            x=np.array([guess[name] * 100 for name in NAMES if name in guess]),
            y=np.array([y for name, y in zip(NAMES, at, strict=True) if name in guess]),
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 18, "color": ESTIMATE, "line": {"width": 2}},
            name=f"{probed.phase}, estimated",
            hovertemplate="%{x:.3g} % of the time at the roofs, estimated<extra></extra>",
        )
        rows += zip(at, NAMES, strict=True)
        label(
            chart,
            1,
            first - 0.05,
            f"{probed.phase}, {seconds(probed.median_s)}",
            colour=COLOURS[probed.phase],
            xref="paper",
            xanchor="right",
        )
    chart.update_yaxes(
        tickvals=np.array([y for y, _ in rows]),
        ticktext=[name for _, name in rows],
        range=[2 * len(NAMES) + 0.5, -0.8],
        showgrid=False,
    )
    chart.update_xaxes(range=[0, 100], dtick=20)
    chart.update_layout(margin={"l": 76})
    return chart
