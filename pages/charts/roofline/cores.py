"""How many times as fast each pass gets with more cores: measured bars, from one core to all."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds, significant
from inference.machine.cores import gain
from inference.machine.sweeps import Setting, SweepPoint
from pages.charts.palette import COLOURS, DASHED, ESTIMATE, figure, label

HEIGHT = 300
_FAINTEST = 0.35  # of the bar with the fewest cores; the one with all is full


def pass_name(setting: Setting) -> str:
    if setting.phase == "prefill":
        return f"prefill of {setting.num_query_tokens:,} tokens"
    batch = f", batch of {setting.batch_size}" if setting.batch_size > 1 else ""
    return f"decode step at {setting.context_len:,}{batch}"


def gains_chart(passes: Sequence[Sequence[SweepPoint]]) -> go.Figure:
    """`passes`: for each pass its points from one core up. A dashed line says where as many times as cores lies."""
    chart = figure(height=HEIGHT, x="times as fast as with one core, measured", y="", is_empty=not any(passes))
    more = [points[1:] for points in passes if len(points) > 1]
    counts = sorted({point.setting.num_cores for points in more for point in points})
    if not counts:
        return chart
    rows: list[tuple[float, str]] = []
    place = 0.0
    for points in (points for points in passes if len(points) > 1):
        first = place
        for point in points[1:]:
            _bar(chart, place, points[0], point, counts)
            place += 1
        rows.append(((first + place - 1) / 2, pass_name(points[0].setting)))
        place += 0.6
    for count in (1, *counts):
        chart.add_vline(x=count, line=DASHED, layer="below")
    label(
        chart,
        counts[-1],
        1.0,
        f"as many times as cores: {counts[-1]}",
        colour=ESTIMATE,
        size=12,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
    )
    chart.update_yaxes(
        tickvals=np.array([at for at, _ in rows]),
        ticktext=[name for _, name in rows],
        range=[place - 0.3, -0.8],
        showgrid=False,
        automargin=True,
    )
    most = max(gain(points[0], point) for points in passes for point in points)
    chart.update_xaxes(range=[0, max(most * 1.18, counts[-1] * 1.02)])
    chart.update_layout(margin={"t": 24})
    return chart


def _bar(chart: go.Figure, at: float, one: SweepPoint, more: SweepPoint, counts: Sequence[int]) -> None:
    setting, times = more.setting, gain(one, more)
    part = counts.index(setting.num_cores) / max(len(counts) - 1, 1) if len(counts) > 1 else 1.0
    name = f"{pass_name(setting)}, {setting.num_cores} cores"
    chart.add_bar(
        x=np.array([times]),
        y=np.array([at]),
        orientation="h",
        width=0.8,
        marker={
            "color": COLOURS[setting.phase],
            "opacity": _FAINTEST + (1 - _FAINTEST) * part,
            "line": {"width": 0},
        },
        name=name,
        text=[f"{significant(times)}" + (f" with {setting.num_cores}" if len(counts) > 1 else "")],
        textposition="outside",
        cliponaxis=False,
        hovertext=[
            f"{name}: {seconds(more.median_s)}, with one core {seconds(one.median_s)}, medians measured in turns"
        ],
        hoverinfo="text",
    )
