"""When a request was sent and when each of its events arrived; and what each tool prints for it."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.definitions import Reading
from inference.arithmetic.metrics import Request, e2e_s, ttft_s
from inference.arithmetic.units import seconds
from pages.charts.palette import DECODE, INK, PREFILL, figure, label

ROW_HEIGHT = 62
METRICS = ("TTFT", "TPOT", "ITL", "Chunk gap", "E2E", "Output tokens/s")
NO_NUMBER = "–"


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
        _add_empty_events(chart, request, row)
        label(
            chart,
            0,
            row + 0.42,
            f"TTFT {seconds(ttft_s(request))}, {request.num_output_tokens} tokens in "
            f"{len(request.event_times_s)} events, E2E {seconds(e2e_s(request))}",
            size=12,
            xanchor="left",
        )
    longest = max(request.event_times_s[-1] - request.sent_s for request in requests) * 1e3
    chart.update_xaxes(range=[0, longest * 1.02])
    chart.update_yaxes(range=[-0.5, len(requests) - 0.35], showticklabels=False, showgrid=False)
    chart.update_layout(margin={"l": 12, "r": 12, "t": 4, "b": 40}, font={"color": INK})
    return chart


def _add_empty_events(chart: go.Figure, request: Request, row: int) -> None:
    events = zip(request.event_times_s, request.tokens_per_event, strict=True)
    if empty := [time_s - request.sent_s for time_s, count in events if not count]:
        chart.add_scatter(
            x=np.array(empty) * 1e3,
            y=np.full(len(empty), row),
            mode="markers",
            marker={"symbol": "circle-open", "size": 11, "line": {"color": INK, "width": 1.5}},
            hovertemplate="%{x:,.0f} ms: an empty event, no token<extra></extra>",
            name="empty events",
        )


def rows(read: dict[str, Reading]) -> tuple[list[list[str]], tuple[tuple[int, int], ...]]:
    """Tool by metric, as text, and the cells that are not what more than half of the tools print."""
    written = [[name, *_cells(reading)] for name, reading in read.items()]
    odd = []
    for column in range(1, 1 + len(METRICS)):
        there = Counter(row[column] for row in written if row[column] != NO_NUMBER)
        usual = [text for text, count in there.items() if 2 * count > there.total()]
        odd += [
            (line, column) for line, row in enumerate(written) if usual and row[column] not in (*usual, NO_NUMBER)
        ]
    return written, tuple(odd)


def _cells(reading: Reading) -> list[str]:
    times = (reading.ttft_s, reading.tpot_s, reading.itl_s, reading.gap_s, reading.e2e_s)
    rate = NO_NUMBER if reading.output_tps is None else f"{reading.output_tps:,.1f}"
    return [*(NO_NUMBER if value is None else seconds(value) for value in times), rate]
