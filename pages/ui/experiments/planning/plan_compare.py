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
        st.text(" ".join([words(costs), *(f"{one}." for one in refused)]))
    table_card(
        table(costs),
        key=f"{key}-table",
        title="What decides",
        caption=f"{spec.name}, {chosen.conversations:,} conversations at once, {chosen.pace}",
    )


def _chosen(settings: PlanCompareSettings, key: str, *, is_fixed: bool) -> PlanCompareSettings:
    controls, names = Controls(key, is_fixed=is_fixed), {name: spec.name for name, spec in models().items()}
    machines = {name: one.name for name, one in hardware().items() if one.peak_flops or one.estimated_flops}
    with row(key):
        model = controls.select("Model", list(names), settings.model, format_func=lambda one: names[one], width=180)
        conversations = controls.number("Conversations", settings.conversations, 1, MOST_CONVERSATIONS, width=130)
        pace = controls.choice("Pace", _PACES, settings.pace)
    with row(f"{key}-machines"):
        chosen = tuple(
            controls.select(
                f"Machine {place}", list(machines), one, format_func=lambda name: machines[name], width=220
            )
            for place, one in enumerate(settings.machines, start=1)
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
        lambda: chart(costs, [_name(one) for one in costs], max((one.total_s for one in costs), default=1.0)),
        version=(costs, chosen.pace),
        key=f"{key}-{kind}",
        title=f"{_TITLES[kind]}: {prompt:,} tokens in, {output:,} out",
        caption=f"best on top; orange prefill, blue decode; {chosen.conversations:,} at once",
        alt=f"{_TITLES[kind]}: time each machine gives to one conversation, prefill and decode.",
        table=lambda: table({kind: costs}),
    )


def _name(one: Cost) -> str:
    short = one.plan.hardware.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    count = one.plan.deployment.num_accelerators
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
                _name(one),
                seconds(one.plan.prefill_s),
                str(one.rank.prefill_decides),
                seconds(one.plan.itl_s),
                str(one.rank.decode_decides),
                seconds(one.total_s),
                percent(one.prefill_s / one.total_s),
                _rows(one),
            ]
            for kind, found in costs.items()
            for one in found
        ],
    )


def _rows(one: Cost) -> str:
    rates = one.plan.efficiency
    return f"{rates.prefill_rows} prefill, {rates.decode_rows} decode"


def words(costs: Costs) -> str:
    """Who wins which work and by how much, and why the order changes if it does."""
    told = [_best(kind, found) for kind, found in costs.items() if found]
    orders = [[one.plan.hardware.id for one in found] for found in costs.values()]
    swapped = next((pair for pair in _pairs(orders[0]) if pair[::-1] in _pairs(orders[1])), None)
    if swapped:
        told.append(_swap(costs, swapped))
    elif all(orders):
        told.append(_same_order(next(iter(costs.values()))))
    return " ".join(told)


def _same_order(found: tuple[Cost, ...]) -> str:
    best, *others = (one.plan for one in found)
    has_all = all(
        peak(best.spec, best.hardware) >= peak(one.spec, one.hardware)
        and best.hardware.bandwidth >= one.hardware.bandwidth
        for one in others
    )
    if has_all and others:
        return "The order is the same for both: the first has at least as much FLOP/s and bandwidth as any other."
    return "The order is the same for both."


def _pairs(order: list[str]) -> list[tuple[str, str]]:
    return [(first, second) for place, first in enumerate(order) for second in order[place + 1 :]]


def _best(kind: str, found: tuple[Cost, ...]) -> str:
    best = found[0]
    share = best.prefill_s / best.total_s
    heavy = f"prefill-heavy, {percent(share)}" if share > 0.5 else f"decode-heavy, {percent(1 - share)}"
    return (
        f"{_TITLES[kind]} ({heavy} of the machine's time on {_name(best)}) is decided by {best.rank.whole_decides}."
    )


def _swap(costs: Costs, pair: tuple[str, str]) -> str:
    reading, writing = ({one.plan.hardware.id: one for one in found} for found in costs.values())
    first, second = pair
    reads = reading[second].total_s / reading[first].total_s
    writes = writing[first].total_s / writing[second].total_s
    return (
        f"{_sheet(reading[first])} and {_sheet(reading[second])} change places: the first does "
        f"{significant(reads)} times the retrieval of the second, and the second {significant(writes)} times the "
        "writing of the first."
    )


def _sheet(one: Cost) -> str:
    """With the two numbers of its datasheet."""
    machine = one.plan.hardware
    flops = scaled(peak(one.plan.spec, machine), "FLOP/s")
    return f"{_name(one)} ({flops}, {scaled(machine.bandwidth, 'B/s')})"
