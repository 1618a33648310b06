"""Two workers, both ways: what each stream waited, what each worker did, what a link and a fleet would give."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import scaled, seconds
from inference.disaggregation.records import ARRANGEMENTS, ArrangementComparison, ArrangementRun, gaps
from pages.charts.batching.lanes import axis, trace_axis
from pages.charts.factors import log_label, log_range
from pages.charts.palette import COLOURS, DASHED, DECODE, ESTIMATE, INK, PHASES, figure, label

GAPS_HEIGHT, LANES_HEIGHT, HEIGHT = 360, 250, 330
_SENT = "cache sent"
_LANES = {"colocated": ("both, first", "both, second"), "disaggregated": ("prefill", "decode")}
_ROWS = (*_LANES["colocated"], "prefill", _SENT, "decode")
_PANELS = ((0.56, 1.0), (0.0, 0.44))


def gaps_chart(comparison: ArrangementComparison | None) -> go.Figure:
    """A circle per token: how long its reader waited for it. One panel per arrangement, on the same axes."""
    chart = figure(height=GAPS_HEIGHT, x="s since the start", y="", is_empty=not (comparison and comparison.served))
    chart.update_layout(yaxis2=chart.layout.yaxis, margin={"t": 24})
    longest = (
        max((gap for served in comparison.served for gap in _gaps(comparison, served)[1]), default=1.0)
        if comparison
        else 1.0
    )
    for number, arrangement in enumerate(ARRANGEMENTS):
        served = (comparison.of(arrangement) if comparison else None) or ArrangementRun(arrangement)
        times, waited, places = _gaps(comparison, served) if comparison else ([], [], [])
        chart.add_scatter(  # an empty one too: the panels stand before there is anything in them
            x=np.array(times),
            y=np.array(waited) * 1e3,
            mode="markers",
            marker={"color": DECODE, "size": 5, "symbol": "circle"},
            name=arrangement,
            yaxis=trace_axis(number),
            customdata=np.array(places),
            hovertemplate=f"{arrangement}, request %{{customdata}}: %{{y:.3g}} ms<extra></extra>",
        )
        panel = {"domain": _PANELS[number], "range": [0, longest * 1.08e3], "title": {"text": "ITL, ms, measured"}}
        chart.update_layout({axis(number): panel})
        _panel_name(chart, arrangement, _PANELS[number][1])
    chart.update_layout(xaxis={"anchor": "y2"}, yaxis2={"anchor": "x"})
    return chart


def _gaps(comparison: ArrangementComparison, served: ArrangementRun) -> tuple[list[float], list[float], list[int]]:
    every = [(*pair, place + 1) for place in range(len(comparison.asks)) for pair in gaps(served, place)]
    return [token[0] for token in every], [token[1] for token in every], [token[2] for token in every]


def _panel_name(chart: go.Figure, text: str, top: float) -> None:
    label(chart, 0, top, text, size=12, xref="paper", xanchor="left", yref="paper", yanchor="bottom")


def lanes_chart(comparison: ArrangementComparison | None) -> go.Figure:
    """What each worker did when, and the caches on their way between them."""
    chart = figure(
        height=LANES_HEIGHT, x="s since the start, measured", y="", is_empty=not (comparison and comparison.served)
    )
    for arrangement in ARRANGEMENTS if comparison else ():
        served = comparison.of(arrangement) if comparison else None
        if not served:
            continue
        for phase in PHASES:
            mine = [worker_pass for worker_pass in served.passes if worker_pass.phase == phase]
            lanes = [_LANES[arrangement][worker_pass.worker] for worker_pass in mine]
            _bars(
                chart,
                lanes,
                [(worker_pass.start_s, worker_pass.end_s) for worker_pass in mine],
                COLOURS[phase],
                f"{arrangement}, {phase}",
                width=0.8 if phase == "prefill" else 0.5,
            )
        moved = [(transfer.start_s, transfer.end_s) for transfer in served.transfers]
        _bars(chart, [_SENT] * len(moved), moved, INK, f"{arrangement}, {_SENT}", width=0.8)
    chart.update_layout(
        barmode="overlay",
        margin={"l": 84},
        yaxis={
            "categoryorder": "array",
            "categoryarray": _ROWS[::-1],
            "range": [-0.5, len(_ROWS) - 0.5],
            "showticklabels": True,
            "showgrid": False,
        },
    )
    return chart


def _bars(
    chart: go.Figure, lanes: list[str], spans: list[tuple[float, float]], colour: str, name: str, *, width: float
) -> None:
    chart.add_bar(
        y=lanes,
        base=np.array([start for start, _ in spans]),
        x=np.array([end - start for start, end in spans]),
        orientation="h",
        width=width,
        marker={"color": colour, "line": {"width": 0}},
        name=name,
        hovertext=[f"{name}: {seconds(end - start)} from {seconds(start)}" for start, end in spans],
        hoverinfo="text",
    )


@dataclass(frozen=True, slots=True)
class Moved:
    """One link and the estimated seconds the cache takes on it."""

    link: str
    seconds: float


def links_chart(rows: Sequence[Moved], prefill_s: float) -> go.Figure:
    """How long the cache is on each link, beside how long its prefill takes; by factors of ten."""
    chart = figure(height=HEIGHT, x="s, estimated", y="")
    names, values = [row.link for row in rows], np.array([row.seconds for row in rows])
    chart.add_bar(
        y=names,
        x=values,
        orientation="h",
        width=0.5,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": ESTIMATE, "width": 1.5}},
        text=[f" {seconds(value)}" for value in values],
        textposition="outside",
        cliponaxis=False,
        hovertext=[f"{row.link}: {seconds(row.seconds)}, estimated" for row in rows],
        hoverinfo="text",
    )
    chart.add_vline(x=prefill_s, line=DASHED)
    log_label(
        chart,
        prefill_s,
        1,
        f"its prefill: {seconds(prefill_s)}",
        colour=ESTIMATE,
        on="x",
        size=12,
        yref="paper",
        yanchor="bottom",
    )
    chart.update_layout(
        margin={"l": 140, "t": 24},
        xaxis={"type": "log", "range": log_range([*values, prefill_s], below=5, above=8), "dtick": 1},
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return chart


def goodput_chart(splits: Sequence[tuple[int, float]], together: float, num_workers: int) -> go.Figure:
    """Requests a second within both limits, by how many of the workers prefill; dashed: all of them do both."""
    chart = figure(
        height=HEIGHT, x=f"prefill workers, of {num_workers}", y="requests/s within the limits, simulated"
    )
    chart.add_scatter(
        x=np.array([number for number, _ in splits]),
        y=np.array([value for _, value in splits]),
        mode="lines+markers",
        line={"color": ESTIMATE, "width": 1.5, "dash": "dot"},
        marker={"color": INK, "size": 7},
        name="apart",
        hovertemplate=f"%{{x}} of {num_workers} prefill: %{{y:.3g}} requests/s, simulated<extra></extra>",
    )
    chart.add_hline(y=together, line=DASHED)
    label(
        chart,
        1,
        together,
        f"all {num_workers} colocated: {scaled(together, 'requests/s')}",
        colour=ESTIMATE,
        size=12,
        xref="paper",
        xanchor="right",
        yanchor="bottom",
    )
    most = max([together, *(value for _, value in splits)]) or 1.0
    chart.update_layout(xaxis={"dtick": 1}, yaxis={"range": [0, most * 1.2]})
    return chart
