"""When a request was sent and when each of its events arrived; and what four tools print for it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.metrics import Reading, Request, e2e_s, ttft_s
from pages.charts.palette import DECODE, INK, PREFILL, figure, label
from pages.charts.units import seconds

ROW_HEIGHT = 62
METRICS = (
    ("TTFT", "ttft_s"),
    ("TPOT", "tpot_s"),
    ("ITL", "itl_s"),
    ("Chunk gap", "gap_s"),
    ("E2E", "e2e_s"),
)
_APART = 1e-3  # two readings of one number differ by rounding alone below this share


def timeline(requests: Sequence[Request], *, is_measured: bool) -> go.Figure:
    """One row per request: the wait for the first token as a bar, then a mark per event."""
    source = "measured" if is_measured else "worked example"
    chart = figure(height=66 + ROW_HEIGHT * len(requests), x=f"ms after the request was sent, {source}", y="")
    for place, request in enumerate(requests):
        row = len(requests) - 1 - place
        at = np.array(request.token_times_s) - request.sent_s
        tokens = np.array([count for count in request.tokens_per_event if count])
        chart.add_bar(
            x=np.array([ttft_s(request) * 1e3]),
            y=np.array([row]),
            orientation="h",
            width=0.34,
            marker={"color": PREFILL},
            hovertemplate=f"sent, first token after {seconds(ttft_s(request))}<extra></extra>",
            name="first token",
        )
        chart.add_scatter(
            x=at[1:] * 1e3,
            y=np.full(len(at) - 1, row),
            mode="markers",
            marker={"symbol": "line-ns", "size": 20, "line": {"color": DECODE, "width": 1.5}},
            customdata=tokens[1:],
            hovertemplate="%{x:,.0f} ms: %{customdata} token(s)<extra></extra>",
            name="events",
        )
        label(
            chart,
            0,
            row + 0.42,
            f"TTFT {seconds(ttft_s(request))}, {request.num_output_tokens} tokens in {len(at)} events, "
            f"E2E {seconds(e2e_s(request))}",
            size=12,
            xanchor="left",
        )
    longest = max(e2e_s(request) for request in requests) * 1e3
    chart.update_xaxes(range=[0, longest * 1.02])
    chart.update_yaxes(range=[-0.5, len(requests) - 0.35], showticklabels=False, showgrid=False)
    chart.update_layout(margin={"l": 12, "r": 12, "t": 4, "b": 40}, font={"color": INK})
    return chart


def rows(read: dict[str, Reading]) -> tuple[list[list[str]], tuple[tuple[int, int], ...]]:
    """Metric by tool, as text, and the cells that are not what most tools print for that metric."""
    written, odd = [], []
    for line, (name, attribute) in enumerate(METRICS):
        values: list[float | None] = [getattr(one, attribute) for one in read.values()]
        there = [value for value in values if value is not None]
        usual = max(there, key=lambda value: sum(_is_same(value, other) for other in there), default=None)
        written.append([name, *("–" if value is None else seconds(value) for value in values)])
        odd += [
            (line, column)
            for column, value in enumerate(values, 1)
            if value is not None and usual is not None and not _is_same(value, usual)
        ]
    return written, tuple(odd)


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= _APART * max(one, other)
