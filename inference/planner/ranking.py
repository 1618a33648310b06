"""Every machine for one model and workload, and one machine over its concurrencies. Estimated throughout."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Regime
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.kv_cache.growth import MOST_CONVERSATIONS
from inference.planner.deployment import (
    Deployment,
    Workload,
    check_split,
    exchange_of,
    memory,
    served,
    smallest_fit,
)
from inference.planner.pass_time import peak
from inference.planner.plan import Plan, plan

Decides = Literal["FLOP/s", "bandwidth", "memory", "overhead"]
"""The number of a machine that sets its pace."""
Order = Literal["prefill", "prefill per accelerator", "ITL", "decode TPS", "E2E", "TPS per accelerator", "price"]
NO_PRICES: Mapping[str, float] = {}
_NUMBER: Mapping[Regime, Decides] = {
    "compute-bound": "FLOP/s",
    "memory-bound": "bandwidth",
    "overhead-bound": "overhead",
}
_SCORES: Mapping[Order, Callable[[Plan], float]] = {
    "prefill": lambda planned: planned.workload.prompt_tokens / planned.prefill_s,
    "prefill per accelerator": lambda planned: planned.prefill_tps / planned.deployment.num_accelerators,
    "ITL": lambda planned: 1 / planned.itl_s,
    "decode TPS": lambda planned: planned.workload.concurrency / planned.itl_s,
    "E2E": lambda planned: 1 / planned.e2e_s,
    "TPS per accelerator": lambda planned: planned.tps_total / planned.deployment.num_accelerators,
}
_UNLIMITED = 1024
"""Conversations a curve goes up to where no memory ends it."""
_BEYOND = 2
_PLAIN = Deployment()


@dataclass(frozen=True, slots=True)
class Rank:
    """One machine: what it would do, or why nothing can be said."""

    hardware: Hardware
    plan: Plan | None
    """As asked; over the fewest accelerators that hold it where it does not fit as asked."""
    refusal: str
    """Why there is no plan; empty with one."""
    ways: int | None
    """The smallest tensor parallelism that holds weights and caches; None where none does."""
    prefill_decides: Decides | None = None
    decode_decides: Decides | None = None
    whole_decides: Decides | None = None
    """Memory where it forces a further split than was asked for, or none holds; else the limit that takes most of
    the time of all passes together."""
    price_per_hour: float | None = None
    """Of one accelerator, in any currency; None where it is not known."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One concurrency of a curve: throughput against what each user gets."""

    concurrency: int
    plan: Plan
    fits: bool


def rank(
    spec: ModelSpec,
    workload: Workload,
    deployment: Deployment,
    machines: Iterable[Hardware],
    prices: Mapping[str, float] = NO_PRICES,
) -> tuple[Rank, ...]:
    """One row per machine, in their order; `prices` are per accelerator and hour, by hardware id.

    A `ValueError` for what no machine can change: a context beyond the model's, a split that cuts its heads.
    """
    check_split(spec, deployment)
    return tuple(
        replace(_rank(spec, workload, deployment, machine), price_per_hour=prices.get(machine.id))
        for machine in machines
    )


def ordered(ranks: Iterable[Rank], order: Order) -> list[Rank]:
    """Best first, machines without a plan (or, by price, without a price) last."""
    return sorted(ranks, key=lambda ranked: score(ranked, order) or 0.0, reverse=True)


def score(ranked: Rank, order: Order) -> float | None:
    """What an order sorts by, larger is better: tokens per second, 1 over seconds, or output tokens per unit
    of money. None: not known."""
    if ranked.plan is None:
        return None
    if order == "price":
        per_accelerator = _SCORES["TPS per accelerator"](ranked.plan)
        return per_accelerator * 3600 / ranked.price_per_hour if ranked.price_per_hour else None
    return _SCORES[order](ranked.plan)


def curve(
    spec: ModelSpec, hardware: Hardware, workload: Workload, deployment: Deployment = _PLAIN
) -> tuple[CurvePoint, ...]:
    """1, 2, 4 .. conversations as far as the memory holds them, the last one it holds, and two steps beyond.

    The workload's own concurrency is not used. Where the memory is not known the curve ends at 1,024.
    """
    room = memory(spec, hardware, replace(workload, concurrency=1), deployment).conversations
    most = _UNLIMITED if room is None else min(room * deployment.replicas, MOST_CONVERSATIONS)
    doubled = [1 << power for power in range(MOST_CONVERSATIONS.bit_length()) if 1 << power <= MOST_CONVERSATIONS]
    within = {number for number in doubled if number <= most} | ({most} if most else set())
    beyond = [] if room is None else [number for number in doubled if number > most][:_BEYOND]
    return tuple(
        CurvePoint(number, plan(spec, hardware, replace(workload, concurrency=number), deployment), number <= most)
        for number in (*sorted(within), *beyond)
    )


def _rank(spec: ModelSpec, workload: Workload, deployment: Deployment, machine: Hardware) -> Rank:
    ways = smallest_fit(spec, machine, workload, deployment)
    try:
        peak(served(spec, deployment), machine)
    except ValueError as error:
        return Rank(machine, None, str(error), ways)
    if not memory(spec, machine, workload, deployment).fits:
        if ways is None:
            refusal = _too_large(spec, workload, deployment, machine)
            return Rank(machine, None, refusal, None, whole_decides="memory")
        if exchange_of(machine, deployment).link_bandwidth is None:
            refusal = f"It takes {ways} {machine.name}; how fast their link is isn't known, so give its bandwidth"
            return Rank(machine, None, refusal, ways, whole_decides="memory")
        planned = plan(spec, machine, workload, replace(deployment, tensor_parallel=ways))
    else:
        planned = plan(spec, machine, workload, deployment)
    return Rank(
        hardware=machine,
        plan=planned,
        refusal="",
        ways=ways,
        prefill_decides=_NUMBER[planned.prefill.regime],
        decode_decides=_NUMBER[planned.decode.regime],
        whole_decides=_whole(planned) if planned.deployment == deployment else "memory",
    )


def _whole(planned: Plan) -> Decides:
    """What takes most of the time in which a replica serves each of its conversations once."""
    steps, prefills = (
        planned.workload.output_tokens - 1,
        planned.prefill_share * planned.round_s / planned.prefill_s,
    )
    prefill, decode = planned.prefill.parts, planned.decode.parts
    taken = {limit: prefills * prefill[limit] + steps * decode[limit] for limit in prefill}
    return _NUMBER[max(taken, key=lambda limit: taken[limit])]


def _too_large(spec: ModelSpec, workload: Workload, deployment: Deployment, machine: Hardware) -> str:
    widest = spec.num_query_heads & -spec.num_query_heads  # the largest power of two that divides the heads
    ledger = memory(spec, machine, workload, replace(deployment, tensor_parallel=widest))
    needed = ledger.weight_bytes + ledger.cache_bytes
    return (
        f"Weights and caches are {scaled(needed, 'B')}; {widest} {machine.name}, the widest split of "
        f"{spec.num_query_heads} query heads, hold {scaled(ledger.total_bytes or 0.0, 'B')}. Take fewer "
        "conversations, a shorter context or fewer bits"
    )
