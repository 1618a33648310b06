"""Which limit holds: arithmetic, memory, or the overhead of asking for either."""

from dataclasses import dataclass
from typing import Literal

from inference.cost import Work

Regime = Literal["compute-bound", "memory-bound", "overhead-bound"]


@dataclass(frozen=True, slots=True)
class Spread:
    """The quartiles of the repeats behind one roof, in its own unit; the roof is the best of them."""

    roof: str
    lower: float
    median: float
    upper: float

    @property
    def width(self) -> float:
        """How far apart the quartiles lie, as a share of the median."""
        return (self.upper - self.lower) / self.median


READ, MULTIPLY, OVERHEAD = "read bandwidth", "matmul rate", "overhead of a pass"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """This machine's roofs, measured on it."""

    device: str
    dtype: str
    bandwidth: float
    """Bytes per second, reading."""
    flops: float
    """FLOP per second of a large matmul in `dtype`."""
    overhead_s: float
    """Seconds a pass takes when its arithmetic and its bytes are next to nothing."""
    measured_on: str
    """ISO date."""
    threads: int
    matmul_ladder: tuple[tuple[int, float], ...] = ()
    """(tokens, seconds per weight) of the model's own matrices, tokens rising: a thin product is slower than
    either roof, and only a measurement knows by how much. Empty in recordings made before it was measured."""
    attention_flops: float = 0.0
    """FLOP per second of fused causal attention in the model's shape, counting causal pairs; 0 if not measured."""
    elementwise_s: float = 0.0
    """Seconds per token, layer and hidden value of everything between the products; 0 if not measured."""
    spreads: tuple[Spread, ...] = ()
    """Of bandwidth, matmul rate and overhead; empty in recordings made before they were kept."""
    left_out: tuple[str, ...] = ()
    """Sentences on what was not measured, and why."""

    @property
    def ridge_point(self) -> float:
        """FLOPs per byte where the roof bends."""
        return self.flops / self.bandwidth


@dataclass(frozen=True, slots=True)
class Floors:
    """The least seconds one pass can take, by each limit on its own."""

    compute_s: float
    memory_s: float
    overhead_s: float

    @property
    def regime(self) -> Regime:
        """The limit with the longest time; near a tie, both matter."""
        if self.overhead_s >= max(self.compute_s, self.memory_s):
            return "overhead-bound"
        return "compute-bound" if self.compute_s > self.memory_s else "memory-bound"


def attainable(intensity: float, bandwidth: float, flops: float) -> float:
    """The roofline: FLOP/s within reach at this arithmetic intensity."""
    return min(flops, intensity * bandwidth)


def floors(work: Work, ceilings: Ceilings) -> Floors:
    """How long this work takes at least under these roofs."""
    return Floors(
        compute_s=work.flops / ceilings.flops,
        memory_s=work.bytes / ceilings.bandwidth,
        overhead_s=ceilings.overhead_s,
    )


def share_of_roof(work: Work, seconds: float, ceilings: Ceilings) -> float:
    """The time its limit needs at least, over the measured one: 1 is at the roof, above it the roof is too low."""
    least = floors(work, ceilings)
    return max(least.compute_s, least.memory_s, least.overhead_s) / _positive(seconds)


DOMINANT = 0.5
"""A limit explains a pass if it alone takes at least this share of the measured time."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What the three floors are of a measured time, as shares of it: estimated work under measured roofs."""

    reading: float
    """Moving the bytes at the measured bandwidth."""
    arithmetic: float
    overhead: float

    @property
    def unexplained(self) -> float:
        """Below 0 the three are more than the pass took: they overlap, or a roof was measured too low."""
        return 1 - self.reading - self.arithmetic - self.overhead

    @property
    def is_above_roof(self) -> bool:
        """Whether one floor alone is longer than the pass: there is no such thing under a roof that holds."""
        return max(self.reading, self.arithmetic, self.overhead) > 1

    @property
    def regime(self) -> Regime | None:
        """The limit that dominates; None where no single one explains the pass."""
        if max(self.reading, self.arithmetic, self.overhead) < DOMINANT:
            return None
        return Floors(self.arithmetic, self.reading, self.overhead).regime


def explained(work: Work, seconds: float, ceilings: Ceilings) -> Explained:
    """How much of a measured pass each limit accounts for."""
    least, measured_s = floors(work, ceilings), _positive(seconds)
    return Explained(least.memory_s / measured_s, least.compute_s / measured_s, least.overhead_s / measured_s)


def _positive(seconds: float) -> float:
    if seconds <= 0:
        raise ValueError(f"a measured time must be above 0 seconds, got {seconds}")
    return seconds
