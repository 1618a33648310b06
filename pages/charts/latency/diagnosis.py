"""What one request left behind: the server's passes and the arrivals at the client. No cause is named."""

from itertools import accumulate

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds
from inference.latency.diagnosis import SlowRequest
from pages.charts.palette import CARD, DECODE, ESTIMATE, INK, PREFILL, figure, label

HEIGHT = 230
_SERVER, _CLIENT = 1.0, 0.0


def evidence(case: SlowRequest) -> go.Figure:
    """Two lines on one clock. Above, the server: waiting grey, passes in their phase's colour. Below, arrivals."""
    chart = figure(height=HEIGHT, x="ms after the request was sent; passes measured, arrivals simulated", y="")
    ends = np.array(list(accumulate(server_pass.total_s for server_pass in case.passes)))
    passes = np.array([server_pass.forward_s for server_pass in case.passes])
    others = np.array([server_pass.queue_s + server_pass.rebuild_s for server_pass in case.passes])
    for start, length, colour, name in (
        (ends - passes - others, others, ESTIMATE, "no pass of this request"),
        (ends - passes, passes, np.array([PREFILL] + [DECODE] * (len(passes) - 1)), "pass"),
    ):
        chart.add_bar(
            base=start * 1e3,
            x=length * 1e3,
            y=np.full(len(length), _SERVER),
            orientation="h",
            width=0.36,
            marker={"color": colour, "line": {"color": CARD, "width": 1}},
            customdata=np.array([seconds(time_s) for time_s in length]),
            hovertemplate=f"{name}: %{{customdata}}<extra></extra>",
            name=name,
        )
    tokens = np.array(case.client.tokens_per_event)
    chart.add_scatter(
        x=np.array(case.client.event_times_s) * 1e3,
        y=np.full(len(tokens), _CLIENT),
        mode="markers",
        marker={"symbol": "line-ns", "size": 24, "line": {"color": INK, "width": 2}},
        customdata=tokens,
        hovertemplate="%{x:,.0f} ms: %{customdata} token(s) arrive<extra></extra>",
        name="arrival",
    )
    for row, words in (
        (_SERVER, "Server: passes; grey: waiting or other work"),
        (_CLIENT, "Client: events arrive"),
    ):
        label(chart, 0, row + 0.38, words, size=12, xanchor="left")
    last = max(float(ends[-1]), case.client.event_times_s[-1])
    chart.update_xaxes(range=[0, last * 1.02e3])
    chart.update_yaxes(range=[-0.4, 1.6], showticklabels=False, showgrid=False)
    chart.update_layout(margin={"l": 12, "r": 12, "t": 4, "b": 40}, barmode="overlay")
    return chart
