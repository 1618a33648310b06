"""Requests under two limits: TTFT across, TPOT up; what lies left of one line and below the other may be good."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.metrics import Request, tpot_s, ttft_s
from pages.charts.palette import DASHED, ESTIMATE, INK, figure, label

HEIGHT = 340


def limits_chart(
    requests: Sequence[Request], good: Sequence[bool], *, ttft_limit_s: float, tpot_limit_s: float
) -> go.Figure:
    """Each request a point, filled if it keeps every limit. A single token has no TPOT and is drawn at 0."""
    chart = figure(
        height=HEIGHT,
        x="TTFT, ms: simulated queue, measured passes",
        y="TPOT, ms: simulated queue, measured passes",
    )
    first = np.array([ttft_s(request) * 1e3 for request in requests])
    pace = np.array([(tpot_s(request) or 0) * 1e3 for request in requests])
    kept = np.array(good)
    for is_good, name, symbol, colour in ((True, "good", "circle", INK), (False, "missed", "x-thin", ESTIMATE)):
        here = kept == is_good
        chart.add_scatter(
            x=first[here],
            y=pace[here],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 7, "color": colour, "line": {"color": colour, "width": 1.3}},
            hovertemplate=f"{name}: TTFT %{{x:,.0f}} ms, TPOT %{{y:,.1f}} ms<extra></extra>",
        )
    right = max(float(first.max()), ttft_limit_s * 1e3) * 1.1
    top = max(float(pace.max()), tpot_limit_s * 1e3) * 1.1
    for x, y, words, spot in (
        ([ttft_limit_s * 1e3] * 2, [0, top], "TTFT limit", (ttft_limit_s * 1e3, top, "left", "top")),
        ([0, right], [tpot_limit_s * 1e3] * 2, "TPOT limit", (right, tpot_limit_s * 1e3, "right", "bottom")),
    ):
        chart.add_scatter(x=np.array(x), y=np.array(y), mode="lines", line=DASHED, hoverinfo="skip", name=words)
        label(chart, spot[0], spot[1], words, size=12, xanchor=spot[2], yanchor=spot[3])
    chart.update_xaxes(range=[0, right])
    chart.update_yaxes(range=[0, top])
    return chart
