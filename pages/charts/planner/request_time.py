"""The time of one request by phase, and of a pass by what takes it. All estimated."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent, seconds
from inference.planner import Plan
from inference.planner.parts import CLOCK, COMPUTE, EXCHANGE, MEMORY, parts
from pages.charts.palette import CARD, COLOURS, ESTIMATE, HAIRLINE, INK, figure, label

HEIGHT = 300
_FILLS = {MEMORY: "", COMPUTE: "/", CLOCK: ".", EXCHANGE: "x"}
_CHARS = 40  # of words that fit over a whole bar, on a narrow screen too


def request_time(plan: Plan) -> go.Figure:
    """Three bars of 100 %: the request by phase, the prefill and one decode step by what takes them."""
    chart = figure(height=HEIGHT, x="share of the time, estimated", y="")
    decode_s = plan.e2e_s - plan.ttft_s
    wait_s = plan.ttft_s - plan.prefill_s
    others_s = max(0.0, decode_s - (plan.workload.output_tokens - 1) * plan.itl_s)
    request = [
        ("wait for a step under way", wait_s, HAIRLINE, ""),
        ("prefill", plan.prefill_s, CARD, "prefill"),
        ("decode", decode_s - others_s, CARD, "decode"),
        ("prompts of others", others_s, HAIRLINE, ""),
    ]
    _bar(chart, 2, f"one request, E2E {seconds(plan.e2e_s)}", request)
    for row, phase, whole in ((1, "prefill", plan.prefill_s), (0, "decode", plan.itl_s)):
        name = "its prefill" if phase == "prefill" else "one decode step"
        pieces = parts(plan, phase)  # type: ignore[arg-type]  # the two phases
        _bar(chart, row, f"{name}, {seconds(whole)}", [(p.name, p.seconds, CARD, _FILLS[p.name]) for p in pieces])
    chart.update_xaxes(
        range=[0, 1], tickvals=[0, 0.25, 0.5, 0.75, 1], ticktext=["0", "25 %", "50 %", "75 %", "100 %"]
    )
    chart.update_yaxes(range=[-0.5, 2.75], showticklabels=False, showgrid=False)
    chart.update_layout(barmode="overlay", margin={"l": 12, "r": 12, "t": 4, "b": 44})
    return chart


def _bar(chart: go.Figure, row: int, title: str, pieces: Sequence[tuple[str, float, str, str]]) -> None:
    """Segments one after the other; within a pass they are told apart by their hatching."""
    whole, at = sum(piece[1] for piece in pieces), 0.0
    label(chart, 0, row + 0.27, title, xanchor="left", yanchor="bottom", xshift=-2)
    for name, taken, colour, fill in pieces:
        share = taken / whole if whole else 0.0
        if share <= 0:
            continue
        of_phase = COLOURS.get(fill)  # hatched: an estimate, where a measurement is solid
        chart.add_bar(
            x=np.array([share]),
            base=np.array([at]),
            y=np.array([row]),
            orientation="h",
            width=0.5,
            marker={
                "color": colour,
                "line": {"color": of_phase or ESTIMATE, "width": 1},
                "pattern": {
                    "shape": "\\" if of_phase else fill,
                    "fgcolor": of_phase or ESTIMATE,
                    "bgcolor": colour,
                    "size": 7,
                    "solidity": 0.45 if of_phase else 0.18,
                },
            },
            name=name,
            hovertext=f"{name}: {seconds(taken)}, {percent(share)}, estimated",
            hoverinfo="text",
        )
        full = f"{name} {seconds(taken)}"
        if words := next((text for text in (full, name) if len(text) <= share * _CHARS), ""):
            label(
                chart,
                at + share / 2,
                row,
                words,
                size=12,
                colour=of_phase or INK,
                xanchor="center",
                yanchor="middle",
                bgcolor=CARD,
            )
        at += share
