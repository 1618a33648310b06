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


def parts(made: Plan, phase: Phase) -> tuple[Part, ...]:
    """The parts of a prefill, or of one decode step, in a fixed order; those that take nothing are left out."""
    one = made.prefill if phase == "prefill" else made.decode
    return tuple(part for part in (*_work(one), Part(EXCHANGE, one.exchange_s + made.hop_s)) if part.seconds > 0)


def first_step_s(made: Plan) -> float:
    """The decode step right after the prefill: the shortest of a conversation. `itl_s` is the one halfway."""
    return made.step_s(context_len=made.workload.prompt_tokens + 1, batch_size=made.batch_size)


def _work(one: PassTime) -> Iterator[Part]:
    """Memory, compute and the layers' clock: one after another, or the longest in front of the others."""
    memory, compute = Part(MEMORY, one.memory_s), Part(COMPUTE, one.compute_s)
    clock = Part(CLOCK, one.layers_s)
    work = [memory, compute] if one.is_summed else [_longest(memory, compute)]
    if not one.is_overlapped:
        yield from (*work, clock)
    elif one.layers_s > one.work_s:
        yield Part(CLOCK, one.layers_s, hidden=" and ".join(part.name for part in work))
    else:
        yield from work


def _longest(one: Part, other: Part) -> Part:
    first, second = (one, other) if one.seconds >= other.seconds else (other, one)
    return Part(first.name, first.seconds, hidden=second.name if second.seconds else "")
