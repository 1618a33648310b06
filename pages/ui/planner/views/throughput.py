"""What more conversations at once do to this plan: throughput in all against the speed of each."""

import streamlit as st

from inference.arithmetic.units import percent, seconds, significant
from inference.planner import Plan
from inference.planner.ranking import CurvePoint, curve
from inference.planner.settings import PlanSettings
from pages.charts.planner.curve import throughput
from pages.ui import state
from pages.ui.experiments.compared import way
from pages.ui.parts.live_chart import Table, chart_card


def throughput_view(plan: Plan, settings: PlanSettings) -> None:
    points = state.remembered(
        "planner-curve", plan, lambda: curve(plan.spec, plan.hardware, plan.workload, plan.deployment)
    )
    chart_card(
        lambda: throughput(points, plan),
        version=plan,
        key="planner-curve-chart",
        title="Throughput in all against speed for each",
        caption="estimated; numbers are conversations at once; the ring is this plan",
        alt="Output tokens per second in all against tokens per second of each user, over concurrency.",
        table=lambda: _table(points),
    )
    with st.container(key="planner-curve-words"):
        st.text(words(points))


def words(points: tuple[CurvePoint, ...]) -> str:
    """What the curve says from its first point to the last that fits."""
    held = [point for point in points if point.fits]
    if not held:
        return "Not even one conversation fits beside the weights: every point lies beyond the memory."
    first, last = held[0], held[-1]
    more = last.plan.tps_total / first.plan.tps_total
    slower = first.plan.tps_per_user / last.plan.tps_per_user
    if last is first:
        return (
            "Only 1 conversation fits beside the weights, so none can share their reading: there is nothing to "
            "gain from a batch here."
        )
    ends = "the last that fits" if held != list(points) else "where the curve is cut, the memory not being known"
    grows = "grows" if way(1, more, noise=0.01) == "more" else "does not grow:"
    pace = "falls to" if way(1, slower, noise=0.01) == "more" else "stays at"
    return (
        f"From 1 conversation to {last.concurrency:,}, {ends}, throughput {grows} {significant(more)} times and "
        f"each user's pace {pace} {percent(1 / slower)}. The weights of a step are read once for all; every "
        "conversation brings a cache of its own and a prompt that the others wait for."
    )


def _table(points: tuple[CurvePoint, ...]) -> Table:
    return Table(
        ["conversations", "in all, tokens/s, estimated", "each, tokens/s, estimated", "TTFT, estimated", "fits"],
        [
            [
                f"{point.concurrency:,}",
                significant(point.plan.tps_total),
                significant(point.plan.tps_per_user),
                seconds(point.plan.ttft_s),
                "yes" if point.fits else "no",
            ]
            for point in points
        ],
    )
