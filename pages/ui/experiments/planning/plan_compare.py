"""Reading against writing on the same few machines: which number of the datasheet each of the two wants."""

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.catalogue import hardware, models
from inference.facts.serving import WORKLOADS
from inference.kv_cache.growth import MOST_CONVERSATIONS
from inference.planner.compare import Cost, compare
from inference.planner.deployment import Workload
from inference.planner.pass_time import peak
from pages.charts.planner.compare import plan_compare as chart
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card

Pace = Literal["expected", "at best"]
_PACES: tuple[Pace, ...] = ("expected", "at best")
_TITLES = {"retrieval": "Retrieval", "writing": "Writing"}


@dataclass(frozen=True, slots=True)
class PlanCompareSettings:
    model: str = "llama-3.1-8b"
    """Id of a catalogue model."""
    machines: tuple[str, ...] = ("l40s", "rtx-5090", "h100-sxm-80gb")
    """Ids of two or three catalogue machines."""
    conversations: int = 8
    """At once, on each machine."""
    pace: Pace = "expected"


_DEFAULT = PlanCompareSettings()
Costs = dict[str, tuple[Cost, ...]]


def plan_compare(
    settings: PlanCompareSettings = _DEFAULT, *, key: str = "plan_compare", is_fixed: bool = False
) -> None:
    """A chart per kind of work with the machines in their order, and the table of what decides. All estimated."""
    drawing = st.container()
    chosen = _chosen(settings, key, is_fixed=is_fixed)
    spec = models()[chosen.model]
    try:
        costs, refused = _compared(spec, chosen)
    except ValueError as problem:
        st.text(str(problem))
        return
    with drawing:
        _draw(costs, chosen, key)
    with st.container(key=f"{key}-words"):
        st.text(" ".join([words(costs), *(f"{reason}." for reason in refused)]))
    table_card(
        table(costs),
        key=f"{key}-table",
        title="What decides",
        caption=f"{spec.name}, {chosen.conversations:,} conversations at once, {chosen.pace}",
    )


def _chosen(settings: PlanCompareSettings, key: str, *, is_fixed: bool) -> PlanCompareSettings:
    controls, names = Controls(key, is_fixed=is_fixed), {name: spec.name for name, spec in models().items()}
    machines = {
        name: machine.name for name, machine in hardware().items() if machine.peak_flops or machine.estimated_flops
    }
    with row(key):
        model = controls.select(
            "Model", list(names), settings.model, format_func=lambda name: names[name], width=180
        )
        conversations = controls.number("Conversations", settings.conversations, 1, MOST_CONVERSATIONS, width=130)
        pace = controls.choice("Pace", _PACES, settings.pace)
    with row(f"{key}-machines"):
        chosen = tuple(
            controls.select(
                f"Machine {place}", list(machines), machine, format_func=lambda name: machines[name], width=220
            )
            for place, machine in enumerate(settings.machines, start=1)
        )
    return PlanCompareSettings(model, chosen, conversations, pace)


def _compared(spec: ModelSpec, chosen: PlanCompareSettings) -> tuple[Costs, list[str]]:
    costs: Costs = {}
    refused: list[str] = []
    machines = [hardware()[name] for name in dict.fromkeys(chosen.machines)]
    for kind, (prompt, output) in WORKLOADS.items():
        work = Workload(prompt, output, chosen.conversations)
        costs[kind], missing = compare(spec, work, machines, is_at_best=chosen.pace == "at best")
        refused += missing
    return costs, list(dict.fromkeys(refused))


def _draw(costs: Costs, chosen: PlanCompareSettings, key: str) -> None:
    for kind, column in zip(WORKLOADS, st.columns(2), strict=True):
        with column:
            _panel(kind, costs[kind], chosen, key)


def _panel(kind: str, costs: tuple[Cost, ...], chosen: PlanCompareSettings, key: str) -> None:
    prompt, output = WORKLOADS[kind]
    chart_card(
        lambda: chart(costs, [_name(cost) for cost in costs], max((cost.total_s for cost in costs), default=1.0)),
        version=(costs, chosen.pace),
        key=f"{key}-{kind}",
        title=f"{_TITLES[kind]}: {prompt:,} tokens in, {output:,} out",
        caption=f"best on top; orange prefill, blue decode; {chosen.conversations:,} at once",
        alt=f"{_TITLES[kind]}: time each machine gives to one conversation, prefill and decode.",
        table=lambda: table({kind: costs}),
    )


def _name(cost: Cost) -> str:
    short = cost.plan.hardware.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    count = cost.plan.deployment.num_accelerators
    return short if count == 1 else f"{count} x {short}"


def table(costs: Costs) -> Table:
    """A row per kind of work and machine, in their order."""
    return Table(
        [
            *("work", "machine", "prefill, estimated", "prefill waits for", "ITL, estimated", "decode waits for"),
            *("per conversation", "prefill's share", "published rows behind it"),
        ],
        [
            [
                _TITLES[kind],
                _name(cost),
                seconds(cost.plan.prefill_s),
                str(cost.rank.prefill_decides),
                seconds(cost.plan.itl_s),
                str(cost.rank.decode_decides),
                seconds(cost.total_s),
                percent(cost.prefill_s / cost.total_s),
                _rows(cost),
            ]
            for kind, ranking in costs.items()
            for cost in ranking
        ],
    )


def _rows(cost: Cost) -> str:
    rates = cost.plan.efficiency
    return f"{rates.prefill_rows} prefill, {rates.decode_rows} decode"


def words(costs: Costs) -> str:
    """Who wins which work and by how much, and why the order changes if it does."""
    sentences = [_best(kind, ranking) for kind, ranking in costs.items() if ranking]
    orders = [[cost.plan.hardware.id for cost in ranking] for ranking in costs.values()]
    swapped = next((pair for pair in _pairs(orders[0]) if pair[::-1] in _pairs(orders[1])), None)
    if swapped:
        sentences.append(_swap(costs, swapped))
    elif all(orders):
        sentences.append(_same_order(next(iter(costs.values()))))
    return " ".join(sentences)


def _same_order(ranking: tuple[Cost, ...]) -> str:
    best, *others = (cost.plan for cost in ranking)
    has_all = all(
        peak(best.spec, best.hardware) >= peak(plan.spec, plan.hardware)
        and best.hardware.bandwidth >= plan.hardware.bandwidth
        for plan in others
    )
    if has_all and others:
        return "The order is the same for both: the first has at least as much FLOP/s and bandwidth as any other."
    return "The order is the same for both."


def _pairs(order: list[str]) -> list[tuple[str, str]]:
    return [(first, second) for place, first in enumerate(order) for second in order[place + 1 :]]


def _best(kind: str, ranking: tuple[Cost, ...]) -> str:
    best = ranking[0]
    share = best.prefill_s / best.total_s
    heavy = f"prefill-heavy, {percent(share)}" if share > 0.5 else f"decode-heavy, {percent(1 - share)}"
    return (
        f"{_TITLES[kind]} ({heavy} of the machine's time on {_name(best)}) is decided by {best.rank.whole_decides}."
    )


def _swap(costs: Costs, pair: tuple[str, str]) -> str:
    reading, writing = ({cost.plan.hardware.id: cost for cost in ranking} for ranking in costs.values())
    first, second = pair
    reads = reading[second].total_s / reading[first].total_s
    writes = writing[first].total_s / writing[second].total_s
    return (
        f"{_sheet(reading[first])} and {_sheet(reading[second])} change places: the first does "
        f"{significant(reads)} times the retrieval of the second, and the second {significant(writes)} times the "
        "writing of the first."
    )


def _sheet(cost: Cost) -> str:
    """With the two numbers of its datasheet."""
    machine = cost.plan.hardware
    flops = scaled(peak(cost.plan.spec, machine), "FLOP/s")
    return f"{_name(cost)} ({flops}, {scaled(machine.bandwidth, 'B/s')})"
