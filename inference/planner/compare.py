"""One kind of work on a few machines: what a conversation costs each of them in either phase. Estimated."""

from collections.abc import Iterable
from dataclasses import dataclass

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.planner.deployment import Deployment, Workload
from inference.planner.efficiency import AT_BEST
from inference.planner.plan import Plan
from inference.planner.ranking import Rank, rank


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one conversation, on a machine that is never idle. Seconds of one machine: of two, both count."""

    rank: Rank
    plan: Plan
    prefill_s: float
    """For its prompt."""
    decode_s: float
    """For its steps, each shared by all conversations in it."""

    @property
    def total_s(self) -> float:
        """1 over the conversations that one machine serves a second."""
        return self.prefill_s + self.decode_s


def compare(
    spec: ModelSpec, workload: Workload, machines: Iterable[Hardware], *, is_at_best: bool = False
) -> tuple[tuple[Cost, ...], tuple[str, ...]]:
    """The cheapest first, and why others are missing. Of a machine that is too small it takes several."""
    deployment = Deployment(
        weight_bits=spec.weight_bits, kv_bits=spec.kv_bits, efficiency=AT_BEST if is_at_best else None
    )
    ranks = rank(spec, workload, deployment, machines)
    costs = [_cost(rank, rank.plan) for rank in ranks if rank.plan]
    refused = tuple(rank.refusal for rank in ranks if rank.refusal)
    return tuple(sorted(costs, key=lambda cost: cost.total_s)), refused


def _cost(rank: Rank, plan: Plan) -> Cost:
    count, steps = plan.deployment.num_accelerators, plan.workload.output_tokens - 1
    return Cost(rank, plan, count * plan.prefill_s, count * steps * plan.itl_s / plan.workload.concurrency)
