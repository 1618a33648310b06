"""The same number of accelerators used three ways: replicas, a pipeline, tensor parallelism. Estimated."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.planner.deployment import ACROSS_S, INSIDE_S, PER_NODE, Deployment, Workload
from inference.planner.efficiency import AT_BEST
from inference.planner.plan import Plan, plan

Way = Literal["replicas", "pipeline", "tensor parallel"]
WAYS: tuple[Way, ...] = get_args(Way)
COUNTS = (1, 2, 4, 8, 16)
_EMPTY = Workload(1, 1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is served on what, whatever the way."""

    spec: ModelSpec
    hardware: Hardware
    workload: Workload = _EMPTY
    """The default is one conversation with an empty cache."""
    inside_s: float = INSIDE_S
    """Of one small all-reduce, or of one hop of a pipeline, in a machine of PER_NODE accelerators."""
    across_s: float = ACROSS_S
    """The same between machines."""
    is_at_best: bool = True
    """At full peak and bandwidth, an exchange's bytes free. Else with the fitted shares of a serving engine."""


@dataclass(frozen=True, slots=True)
class Use:
    """One way of using so many accelerators, and what to expect of it."""

    way: Way
    count: int
    plan: Plan

    @property
    def conversations(self) -> int | None:
        """That fit in memory, in all replicas together."""
        per_replica = self.plan.memory.conversations
        return None if per_replica is None else per_replica * self.plan.deployment.replicas

    @property
    def used_bytes(self) -> float:
        """Weights and caches, in all accelerators together."""
        memory = self.plan.memory
        return (memory.weight_bytes + memory.cache_bytes) * self.plan.deployment.replicas

    @property
    def total_bytes(self) -> float | None:
        """The memory of all accelerators together; None where the buyer chooses."""
        per_replica = self.plan.memory.total_bytes
        return None if per_replica is None else per_replica * self.plan.deployment.replicas


def predict_use(scenario: Scenario, way: Way, count: int) -> Use:
    """Predict one way. A split that cuts a head, and a pipeline with fewer layers than stages, are refused."""
    machine = replace(scenario.hardware, interconnect_bandwidth=None) if scenario.is_at_best else scenario.hardware
    deployment = Deployment(
        weight_bits=scenario.spec.weight_bits,
        kv_bits=scenario.spec.kv_bits,
        replicas=count if way == "replicas" else 1,
        pipeline_parallel=count if way == "pipeline" else 1,
        tensor_parallel=count if way == "tensor parallel" else 1,
        all_reduce_s=_latency_s(scenario, way, count),
        efficiency=AT_BEST if scenario.is_at_best else None,
    )
    return Use(way, count, plan(scenario.spec, machine, scenario.workload, deployment))


def side_by_side(scenario: Scenario) -> tuple[tuple[Use, ...], tuple[str, ...]]:
    """Every way at every count; and for each way that cannot go on, why. What no way can serve is refused."""
    predict_use(scenario, "replicas", 1)
    possible: list[Use] = []
    refused: dict[Way, str] = {}
    for way in WAYS:
        for count in COUNTS:
            try:
                possible.append(predict_use(scenario, way, count))
            except ValueError as problem:
                refused.setdefault(way, str(problem))
    return tuple(possible), tuple(refused.values())


def step_s(spec: ModelSpec, hardware: Hardware, count: int) -> float:
    """Seconds at best of one decode step with an empty cache, split over `count` by tensor parallelism."""
    return predict_use(Scenario(spec, hardware), "tensor parallel", count).plan.itl_s


def _latency_s(scenario: Scenario, way: Way, count: int) -> float:
    """An all-reduce over several machines waits for their link; of a pipeline's hops only some cross it."""
    if count <= PER_NODE:
        return scenario.inside_s
    if way != "pipeline":
        return scenario.across_s
    hops, across = count - 1, -(-count // PER_NODE) - 1
    return (scenario.inside_s * (hops - across) + scenario.across_s * across) / hops
