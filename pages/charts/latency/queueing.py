"""TTFT against load: simulated queues, measured service."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent
from pages.charts.palette import DASHED, ESTIMATE, INK, figure, label

HEIGHT = 330


@dataclass(frozen=True, slots=True)
class AtLoad:
    """One load: percentiles of simulated TTFT, and the mean by formula, in seconds."""

    load: float
    p50_s: float
    p90_s: float
    p99_s: float
    expected_mean_s: float
    service_s: float
    """TTFT without any queue, measured."""


def load_curve(rows: Sequence[AtLoad], chosen: float) -> go.Figure:
    """Percentiles of TTFT rise with load; the chosen load is marked."""
    chart = figure(height=HEIGHT, x="load: share of the time the server is busy", y="TTFT, s, simulated queue")
    loads = np.array([row.load for row in rows])
    for name, values, width in (
        ("p99", [row.p99_s for row in rows], 1.5),
        ("p90", [row.p90_s for row in rows], 1.5),
        ("p50", [row.p50_s for row in rows], 3.0),
    ):
        chart.add_scatter(
            x=loads,
            y=np.array(values),
            mode="lines",
            line={"color": INK, "width": width},
            name=name,
            hovertemplate=f"{name} at load %{{x:.0%}}: %{{y:.3g}} s, simulated<extra></extra>",
        )
        label(chart, rows[-1].load, values[-1], name, size=12, xanchor="left", xshift=4)
    chart.add_scatter(
        x=loads,
        y=np.array([row.expected_mean_s for row in rows]),
        mode="lines",
        line=DASHED,
        name="mean by formula",
        hovertemplate="mean at load %{x:.0%}: %{y:.3g} s, estimated<extra></extra>",
    )
    chart.add_vline(x=chosen, line={"color": ESTIMATE, "width": 1})
    label(
        chart,
        chosen,
        1,
        f"load {percent(chosen)}",
        colour=ESTIMATE,
        size=12,
        yref="paper",
        xanchor="left" if chosen < 0.7 else "right",
        xshift=6 if chosen < 0.7 else -6,
        yanchor="top",
    )
    chart.update_xaxes(range=[0, 1.02], tickformat=".0%")
    return chart.update_yaxes(rangemode="tozero")
