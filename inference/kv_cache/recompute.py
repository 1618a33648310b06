"""The next token with the KV cache, and without it by reading everything again: the work and the time."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports
from inference.machine.sweep_run import check, measure
from inference.machine.sweeps import Case, Setting, Sweep, SweepPoint

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

WITH, WITHOUT = "with cache", "without cache"
SHORTEST, LONGEST = 16, 1024


def lengths_to(longest: int) -> tuple[int, ...]:
    """Doubling from 16 tokens, and the longest itself."""
    doubled = (SHORTEST << power for power in range(max(longest, 1).bit_length()))
    return (*(length for length in doubled if length < longest), longest)


LENGTHS = lengths_to(LONGEST)


def token_forwards(*, prompt_tokens: int, new_tokens: int) -> tuple[int, int]:
    """Tokens fed through the model to generate `new_tokens` after a prompt: with the cache, and without it.

    With it the prompt once and then every new token but the last; without it everything again for each token.
    """
    if prompt_tokens < 1 or new_tokens < 1:
        raise ValueError(f"prompt and output need a token each, got {prompt_tokens} and {new_tokens}")
    once = prompt_tokens + new_tokens - 1
    again = prompt_tokens * new_tokens + new_tokens * (new_tokens - 1) // 2
    return once, again


def recompute_job(lengths: Sequence[int] = LENGTHS) -> Job[Sweep]:
    """Time the next token at each length, both ways in turn: a decode step, and a fresh pass over all tokens.

    The fresh pass fills a cache that nobody reads, as every pass here does: a few per cent of its time at most.
    The default lengths go as far as the model's context; any others beyond it are refused.
    """

    def cases(engine: "Engine") -> list[Case]:
        is_default = tuple(lengths) == LENGTHS
        return [_case(length) for length in sorted(lengths) if length <= engine.spec.max_context or not is_default]

    def begin(engine: "Engine", limits: "Limits") -> Reports[Sweep]:
        check(engine, limits, cases(engine))
        return measure(engine, cases(engine))

    return Job(f"with and without the cache: {', '.join(map(str, lengths))}", Sweep, begin)


def _case(length: int) -> Case:
    return (
        Setting(WITH, "decode", num_query_tokens=1, context_len=length),
        Setting(WITHOUT, "prefill", num_query_tokens=length, context_len=length),
    )


def pairs(sweep: Sweep) -> list[tuple[SweepPoint, SweepPoint]]:
    """The lengths at which both arms were measured: with the cache, without it."""
    without = {point.setting.context_len: point for point in sweep.arm(WITHOUT)}
    known = [point for point in sweep.arm(WITH) if point.setting.context_len in without]
    return [(point, without[point.setting.context_len]) for point in known]


def ratio(pair: tuple[SweepPoint, SweepPoint]) -> float:
    """How many times longer the token takes without the cache, by the medians."""
    return pair[1].median_s / pair[0].median_s


def crossing(sweep: Sweep) -> float | None:
    """The length from which on the cache saves time, between two measured ones by a straight line in logarithms.

    None where it does so from the shortest length on, or not even at the longest.
    """
    ratios = [(pair[0].setting.context_len, ratio(pair)) for pair in pairs(sweep)]
    for (low, before), (high, after) in reversed(list(itertools.pairwise(ratios))):
        if after <= 1:
            return None
        if before <= 1:
            share = math.log(before) / math.log(before / after)
            return low * math.pow(high / low, share)
    return None


def are_alike(pair: tuple[SweepPoint, SweepPoint]) -> bool:
    """Whether the middle halves of the repeats overlap: the two cannot be told apart by these measurements."""
    first, other = pair
    return first.lower_s <= other.upper_s and other.lower_s <= first.upper_s
