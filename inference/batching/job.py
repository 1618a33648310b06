"""Requests served by plans that take turns, as a job: what it is called, and what is refused before any work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.batching.records import PAGE, BatchingComparison, ServingPlan
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Reports

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits


def serving_job(plans: Sequence[ServingPlan]) -> Job[BatchingComparison]:
    """Serve each plan on its own paged cache, in turns."""
    plans = tuple(plans)

    def begin(engine: "Engine", limits: "Limits") -> Reports[BatchingComparison]:
        from inference.batching.run import compare  # noqa: PLC0415  # pages must not wait for torch

        for plan in plans:
            _check_context(plan, engine)
        held = sum(_held_bytes(plan, engine) for plan in plans)
        limits.check_kv(held, f"The cache blocks and attention masks of {len(plans)} servers")
        return compare(engine, plans)

    return Job(f"serving: {'; '.join(map(_words, plans))}", BatchingComparison, begin)


def _check_context(plan: ServingPlan, engine: "Engine") -> None:
    for number, arrival in enumerate(plan.arrivals, 1):
        longest = arrival.prompt_tokens + arrival.output_tokens
        if longest > engine.spec.max_context:
            raise ValueError(
                f"Request {number} reaches {longest:,} tokens, the model's context holds "
                f"{engine.spec.max_context:,}; shorten its prompt or its output."
            )


def _held_bytes(plan: ServingPlan, engine: "Engine") -> float:
    """The blocks, and the mask that says for each token of a pass which of all keys it may see."""
    num_keys = PAGE * plan.num_blocks
    mask = plan.tokens_per_pass * (num_keys + plan.tokens_per_pass) * engine.dtype.itemsize
    return kv_bytes(engine.spec, context_len=num_keys) + mask


def _words(plan: ServingPlan) -> str:
    asked = ", ".join(
        f"{arrival.before_pass}/{arrival.prompt_tokens}/{arrival.output_tokens}" for arrival in plan.arrivals
    )
    return f"{plan.name}, {plan.slots} at once, {plan.tokens_per_pass} tokens per pass, {plan.is_static}: {asked}"
