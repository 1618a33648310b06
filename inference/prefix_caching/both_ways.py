"""A request decoded on without and with a reused prefix, one token each in turn: same tokens, same speed?"""

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from inference.jobs.experiments import Report
from inference.kv_cache.paged import equal_start

if TYPE_CHECKING:
    from inference.prefix_caching.store import PrefixRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BothWays:
    """Greedy output of one prompt, measured both ways."""

    logit_difference: float
    """Largest of the first token's logits."""
    cold_tokens: tuple[int, ...]
    warm_tokens: tuple[int, ...]
    cold_s: tuple[float, ...]
    """Inter-token latencies; one fewer than tokens."""
    warm_s: tuple[float, ...]
    margin: float | None = None
    """Where the outputs part: the logit of the cold token over that of the warm one, in the cold pass."""

    @property
    def num_equal(self) -> int:
        return equal_start(self.cold_tokens, self.warm_tokens)

    @property
    def are_equal(self) -> bool:
        return self.cold_tokens == self.warm_tokens


def decode_both(
    cold: "PrefixRequest",
    warm: "PrefixRequest",
    num_tokens: int,
    say: Callable[[float], Report[T]],
    *,
    ends: Collection[int] = (),
) -> Generator[Report[T], None, BothWays]:
    """Decode two prefilled requests of one prompt to `num_tokens` each, or to an end token of the warm one.

    Yields what `say` makes of the share done after every pass.
    """
    logit_difference = float((cold.logits - warm.logits).abs().max())
    cold_s: list[float] = []
    warm_s: list[float] = []
    margin = _margin(cold, warm)
    while len(warm.tokens) < num_tokens and warm.tokens[-1] not in ends:
        share = len(cold_s) / num_tokens
        cold_s.append(cold.decode())
        yield say(share)
        warm_s.append(warm.decode())
        yield say(share)
        if margin is None:
            margin = _margin(cold, warm)
    return BothWays(logit_difference, tuple(cold.tokens), tuple(warm.tokens), tuple(cold_s), tuple(warm_s), margin)


def _margin(cold: "PrefixRequest", warm: "PrefixRequest") -> float | None:
    """None while both have chosen the same token."""
    ours, theirs = cold.tokens[-1], warm.tokens[-1]
    return None if ours == theirs else float(cold.logits[ours] - cold.logits[theirs])
