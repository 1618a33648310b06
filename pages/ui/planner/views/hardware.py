"""Which hardware suits which phase of this plan, and the number that decides it."""

from dataclasses import replace

import streamlit as st

from inference import catalogue
from inference.planner import Plan
from inference.planner.ranking import Order, Rank, ordered, rank
from inference.planner.settings import PlanSettings
from pages.charts.planner.rank import decides, name, ranking, value
from pages.ui import state
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.planner.fields import key

ORDERS: dict[str, Order] = {
    "For prefill": "prefill",
    "For decode": "ITL",
    "For the whole request": "E2E",
    "Per accelerator": "TPS per accelerator",
}


def hardware_view(plan: Plan, settings: PlanSettings) -> None:
    chosen = st.segmented_control(
        "Ranked",
        list(ORDERS),
        default="For decode",
        required=True,
        key=key("order"),
        label_visibility="collapsed",
        persist_state="session",
    )
    order = ORDERS[chosen or "For decode"]
    ranks = state.remembered("planner-ranks", plan, lambda: ranks_of(plan))
    best = ordered(ranks, order)
    chart_card(
        lambda: ranking(best, order, plan.hardware.id),
        version=(plan, order),
        key="planner-rank-chart",
        title="Hardware for this plan, best first",
        caption="estimated; this plan's with its values, others with fitted ones; after the dot, what decides",
        alt="Bars: every machine of the catalogue by its speed for this plan, with what decides it.",
        table=lambda: _table(best, order),
    )
    if refused := [row for row in best if row.plan is None]:
        with st.container(key="planner-rank-words"):
            st.text("Not ranked. " + " ".join(f"{_refusal(row)}." for row in refused))


def ranks_of(plan: Plan) -> tuple[Rank, ...]:
    """All of the catalogue, each with its fitted values, and the plan's own machine with the plan's."""
    others = [machine for name, machine in catalogue.hardware().items() if name != plan.hardware.id]
    plain = replace(plan.deployment, efficiency=None, all_reduce_s=None, link_bandwidth=None)
    # a wider split than the plan's may leave the machine, where its link is another
    own = plan.deployment if plan.memory.fits else replace(plain, efficiency=plan.efficiency)
    return (
        *rank(plan.spec, plan.workload, own, [plan.hardware]),
        *rank(plan.spec, plan.workload, plain, others),
    )


def _table(ranks: list[Rank], order: Order) -> Table:
    return Table(
        ["hardware", "estimated", "decides", "accelerators at least"],
        [
            [
                name(row) if row.plan else _refusal(row),
                value(row, order),
                decides(row, order),
                "–" if row.ways is None else str(row.ways),
            ]
            for row in ranks
        ],
    )


def _refusal(row: Rank) -> str:
    """Why a machine has no place, with its name."""
    return row.refusal if row.refusal.startswith(row.hardware.name) else f"{row.hardware.name}: {row.refusal}"
