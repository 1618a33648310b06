"""Which hardware suits which phase of this plan, and the number that decides it."""

from dataclasses import replace

import streamlit as st

from inference import catalogue
from inference.planner import Plan
from inference.planner.ranking import Order, Rank, ordered, rank
from inference.planner.settings import PlanSettings
from pages.charts.planner.rank import decides, name, ranking, value
from pages.ui import state
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.planner.fields import key

ORDERS: dict[str, Order] = {
    "For prefill": "prefill",
    "For decode": "ITL",
    "For the whole request": "E2E",
    "Per accelerator": "TPS per accelerator",
}


def hardware_view(made: Plan, settings: PlanSettings) -> None:
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
    ranks = state.remembered("planner-ranks", made, lambda: ranks_of(made))
    best = ordered(ranks, order)
    with framed("planner-rank"):
        live_chart(
            lambda: ranking(best, order, made.hardware.id),
            version=(made, order),
            key="planner-rank-chart",
            title="Hardware for this plan, best first",
            caption="estimated; this plan's with its values, others with fitted ones; after the dot, what decides",
            alt="Bars: every machine of the catalogue by its speed for this plan, with what decides it.",
            table=lambda: _table(best, order),
        )
    if refused := [one for one in best if one.plan is None]:
        with st.container(key="planner-rank-words"):
            st.text("Not ranked. " + " ".join(f"{_refusal(one)}." for one in refused))


def ranks_of(made: Plan) -> tuple[Rank, ...]:
    """All of the catalogue, each with its fitted values, and the plan's own machine with the plan's."""
    others = [machine for name, machine in catalogue.hardware().items() if name != made.hardware.id]
    plain = replace(made.deployment, efficiency=None, all_reduce_s=None, link_bandwidth=None)
    # a wider split than the plan's may leave the machine, where its link is another
    own = made.deployment if made.memory.fits else replace(plain, efficiency=made.efficiency)
    return (
        *rank(made.spec, made.workload, own, [made.hardware]),
        *rank(made.spec, made.workload, plain, others),
    )


def _table(ranks: list[Rank], order: Order) -> Table:
    return Table(
        ["hardware", "estimated", "decides", "accelerators at least"],
        [
            [
                name(one) if one.plan else _refusal(one),
                value(one, order),
                decides(one, order),
                "–" if one.ways is None else str(one.ways),
            ]
            for one in ranks
        ],
    )


def _refusal(one: Rank) -> str:
    """Why a machine has no place, with its name."""
    return one.refusal if one.refusal.startswith(one.hardware.name) else f"{one.hardware.name}: {one.refusal}"
