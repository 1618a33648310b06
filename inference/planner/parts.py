"""What takes the time of one pass, part by part, so that the parts add up to the whole. Estimated."""

from collections.abc import Iterator
from dataclasses import dataclass

from inference.planner.pass_time import PassTime
from inference.planner.plan import Phase, Plan

MEMORY, COMPUTE, CLOCK, EXCHANGE = "memory", "compute", "layers' clock", "exchange"


@dataclass(frozen=True, slots=True)
class Part:
    """One share of a pass."""

    name: str
    seconds: float
    hidden: str = ""
    """What goes on meanwhile and is shorter, if anything."""


def parts(plan: Plan, phase: Phase) -> tuple[Part, ...]:
    """The parts of a prefill, or of one decode step, in a fixed order; those that take nothing are left out."""
    pass_time = plan.prefill if phase == "prefill" else plan.decode
    return tuple(
        part for part in (*_work(pass_time), Part(EXCHANGE, pass_time.exchange_s + plan.hop_s)) if part.seconds > 0
    )


def first_step_s(plan: Plan) -> float:
    """The decode step right after the prefill: the shortest of a conversation. `itl_s` is the one halfway."""
    return plan.step_s(context_len=plan.workload.prompt_tokens + 1, batch_size=plan.batch_size)


def _work(pass_time: PassTime) -> Iterator[Part]:
    """Memory, compute and the layers' clock: one after another, or the longest in front of the others."""
    memory, compute = Part(MEMORY, pass_time.memory_s), Part(COMPUTE, pass_time.compute_s)
    clock = Part(CLOCK, pass_time.layers_s)
    work = [memory, compute] if pass_time.is_summed else [_longest(memory, compute)]
    if not pass_time.is_overlapped:
        yield from (*work, clock)
    elif pass_time.layers_s > pass_time.work_s:
        yield Part(CLOCK, pass_time.layers_s, hidden=" and ".join(part.name for part in work))
    else:
        yield from work


def _longest(part: Part, other: Part) -> Part:
    first, second = (part, other) if part.seconds >= other.seconds else (other, part)
    return Part(first.name, first.seconds, hidden=second.name if second.seconds else "")
