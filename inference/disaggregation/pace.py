"""How long a pass takes in a simulation: fitted to measured passes, or computed for a datasheet."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.cost import forward_work

Points = Sequence[tuple[int, float]]


class Pace(Protocol):
    """Seconds of one pass."""

    def prefill_s(self, num_tokens: int) -> float: ...

    def decode_s(self, batch_size: int, context_len: int) -> float: ...


@dataclass(frozen=True, slots=True)
class MeasuredPace:
    """Straight lines between measured passes; beyond the largest, on along the last line.

    The decode points were measured at one context length, and the length is left out.
    """

    prefill: tuple[tuple[int, float], ...]
    """(prompt tokens, seconds), two or more, tokens rising."""
    decode: tuple[tuple[int, float], ...]
    """(sequences, seconds), two or more, sequences rising."""

    def prefill_s(self, num_tokens: int) -> float:
        return _between(self.prefill, num_tokens)

    def decode_s(self, batch_size: int, context_len: int) -> float:
        return _between(self.decode, batch_size)


_ROUND = 64


@dataclass(frozen=True, slots=True)
class ComputedPace:
    """Estimated: every pass exactly at the roofline of a datasheet, so what hardware reaches at best.

    A decode's context is rounded up to a multiple of 64 tokens, so that a simulation computes each pass once.
    """

    spec: ModelSpec
    hardware: Hardware
    dtype: str
    _known: dict[tuple[int, int, int], float] = field(default_factory=dict, compare=False, repr=False)

    def prefill_s(self, num_tokens: int) -> float:
        return self._pass_s(num_tokens, num_tokens, 1)

    def decode_s(self, batch_size: int, context_len: int) -> float:
        return self._pass_s(1, -(-context_len // _ROUND) * _ROUND, batch_size)

    def _pass_s(self, num_query_tokens: int, context_len: int, batch_size: int) -> float:
        key = num_query_tokens, context_len, batch_size
        if key not in self._known:
            work = forward_work(
                self.spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size
            )
            compute_s = work.flops / self.hardware.peak_flops[self.dtype]
            self._known[key] = max(compute_s, work.bytes / self.hardware.bandwidth)
        return self._known[key]


def _between(points: Points, at: int) -> float:
    if len(points) < 2:
        raise ValueError(f"a pace needs two measured passes of different size, got {len(points)}")
    sizes, seconds = zip(*points, strict=True)
    if at <= sizes[-1]:
        return float(np.interp(at, sizes, seconds))
    slope = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
    return float(seconds[-1] + max(slope, 0.0) * (at - sizes[-1]))
