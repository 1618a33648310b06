"""Every machine for one plan, best first, with the number that decides its place. Estimated."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import seconds, significant
from inference.planner.ranking import Decides, Order, Rank, score
from pages.charts.palette import ESTIMATE, HAIRLINE, INK, figure, label, literal

ROW_HEIGHT = 23


def ranking(ranks: Sequence[Rank], order: Order, chosen: str) -> go.Figure:
    """Bars as long as what the order sorts by; `chosen` is the id of the plan's own hardware."""
    shown = [ranked for ranked in ranks if ranked.plan is not None]
    chart = figure(height=max(1, len(shown)) * ROW_HEIGHT + 56, x=_AXES[order], y="")
    scores = np.array([score(ranked, order) or 0.0 for ranked in shown])
    rows = np.arange(len(shown))[::-1]
    chart.add_bar(
        x=scores,
        y=rows,
        orientation="h",
        width=0.86,
        marker={
            "color": HAIRLINE,
            "line": {"color": [INK if ranked.hardware.id == chosen else HAIRLINE for ranked in shown]},
        },
        hovertext=[
            f"{literal(name(ranked))}: {value(ranked, order)}, {decides(ranked, order)} decides" for ranked in shown
        ],
        hoverinfo="text",
        name="machines",
    )
    for row, ranked in zip(rows.tolist(), shown, strict=True):
        text = literal(name(ranked))
        text = f"<b>{text}</b>" if ranked.hardware.id == chosen else text
        label(chart, 0, row, text, size=12, xanchor="left", xshift=5)
        words = f"{value(ranked, order)} · {decides(ranked, order)}"
        label(chart, 1, row, words, size=12, colour=ESTIMATE, xref="paper", xanchor="right", xshift=-4)
    longest = float(scores.max()) if shown else 1.0
    chart.update_xaxes(range=[0, longest * 1.35], showgrid=False, showticklabels=False)
    chart.update_yaxes(range=[-0.6, max(len(shown), 1) - 0.4], showticklabels=False, showgrid=False)
    chart.update_layout(margin={"l": 8, "r": 8, "t": 4, "b": 40}, bargap=0.1)
    return chart


_AXES: dict[Order, str] = {
    "prefill": "prompt tokens/s of one prompt, estimated",
    "ITL": "decode steps/s, estimated",
    "E2E": "requests of one user in a row, per second, estimated",
    "TPS per accelerator": "output tokens/s per accelerator, estimated",
}


def name(ranked: Rank) -> str:
    """The machine, and how many of it."""
    many = ranked.plan.deployment.num_accelerators if ranked.plan else 1
    return f"{many} x {ranked.hardware.name}" if many > 1 else ranked.hardware.name


def value(ranked: Rank, order: Order) -> str:
    """What a learner compares: a time, or tokens per second and accelerator."""
    if ranked.plan is None:
        return "–"
    if order == "TPS per accelerator":
        return f"{significant(score(ranked, order) or 0.0)} tok/s"
    times = {"prefill": ranked.plan.prefill_s, "ITL": ranked.plan.itl_s, "E2E": ranked.plan.e2e_s}
    return seconds(times[order])


def decides(ranked: Rank, order: Order) -> Decides | str:
    """The number of the machine that sets this pace."""
    which = {"prefill": ranked.prefill_decides, "ITL": ranked.decode_decides}.get(order, ranked.whole_decides)
    return which or "–"
