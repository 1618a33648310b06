"""Prefill batching: several prompts in one pass, and one after another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports
from inference.machine.sweep_run import check, measure
from inference.machine.sweeps import Case, Setting, Sweep, SweepPoint

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

ALONE, TOGETHER = "one after another", "in one pass"
NUM_PROMPTS = 4
LENGTHS = (4, 16, 64, 256)


def prefill_batching_job(lengths: Sequence[int] = LENGTHS, num_prompts: int = NUM_PROMPTS) -> Job[Sweep]:
    """Time the prefill of one prompt and of `num_prompts` in one pass, in turns, at each length."""

    def cases(engine: "Engine") -> list[Case]:
        is_default = tuple(lengths) == LENGTHS
        fitting = [length for length in sorted(lengths) if length <= engine.spec.max_context or not is_default]
        return [_case(length, num_prompts) for length in fitting]

    def begin(engine: "Engine", limits: "Limits") -> Reports[Sweep]:
        if num_prompts < 2:
            raise ValueError(f"a batch needs at least 2 prompts, got {num_prompts}")
        check(engine, limits, cases(engine))
        return measure(engine, cases(engine))

    return Job(f"prefill of {num_prompts} prompts: {', '.join(map(str, lengths))}", Sweep, begin)


def _case(length: int, num_prompts: int) -> Case:
    return (
        Setting(ALONE, "prefill", num_query_tokens=length, context_len=length),
        Setting(TOGETHER, "prefill", num_query_tokens=length, context_len=length, batch_size=num_prompts),
    )


@dataclass(frozen=True, slots=True)
class Batched:
    """One prompt length, measured both ways."""

    alone: SweepPoint
    """A single prompt's pass."""
    together: SweepPoint
    """The pass of all prompts."""

    @property
    def num_prompts(self) -> int:
        return self.together.setting.batch_size

    @property
    def num_tokens(self) -> int:
        """Of each prompt."""
        return self.alone.setting.num_query_tokens

    @property
    def in_turn_s(self) -> float:
        """All prompts one after another: that many times the measured pass of one."""
        return self.num_prompts * self.alone.median_s

    @property
    def gain(self) -> float:
        """How many times the throughput of prompts one pass gives; below 1 it loses."""
        return self.in_turn_s / self.together.median_s

    @property
    def ttft_in_turn_s(self) -> float:
        """Mean over the prompts, all there at the start: the first waits for one pass, the last for all."""
        return (self.num_prompts + 1) / 2 * self.alone.median_s

    @property
    def ttft_ratio(self) -> float:
        """Mean TTFT in one pass, where everybody waits for everybody, over the one in turn; above 1 it loses."""
        return self.together.median_s / self.ttft_in_turn_s


def both(sweep: Sweep) -> list[Batched]:
    """The lengths at which both ways were measured."""
    together = {point.setting.num_query_tokens: point for point in sweep.arm(TOGETHER)}
    return [
        Batched(point, together[point.setting.num_query_tokens])
        for point in sweep.arm(ALONE)
        if point.setting.num_query_tokens in together
    ]
