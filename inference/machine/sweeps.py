"""Sweeps: the same pass at many lengths or batch sizes, and what was measured of each."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from inference.arithmetic.estimate import Estimate, estimate
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.cost import Work, forward_work
from inference.trace import Phase


@dataclass(frozen=True, slots=True)
class Setting:
    """One pass to be timed."""

    arm: str
    """What it is compared as, or its phase where nothing is compared."""
    phase: Phase
    num_query_tokens: int
    context_len: int
    """Tokens in each KV cache after the pass."""
    batch_size: int = 1
    num_cores: int = 0
    """Of the CPU, that the pass may use; 0 for all that the engine has."""

    def __post_init__(self) -> None:
        if self.batch_size < 1 or not 1 <= self.num_query_tokens <= self.context_len:
            raise ValueError(
                f"a pass feeds from 1 to context_len tokens to each of at least one sequence, got "
                f"num_query_tokens={self.num_query_tokens}, context_len={self.context_len}, "
                f"batch_size={self.batch_size}"
            )

    def work(self, spec: ModelSpec) -> Work:
        """What the pass costs by arithmetic."""
        return forward_work(
            spec,
            num_query_tokens=self.num_query_tokens,
            context_len=self.context_len,
            batch_size=self.batch_size,
        )

    def estimate(self, spec: ModelSpec, ceilings: Ceilings) -> Estimate:
        """How long it should take on the machine these were measured on."""
        return estimate(
            spec,
            ceilings,
            num_query_tokens=self.num_query_tokens,
            context_len=self.context_len,
            batch_size=self.batch_size,
        )


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One setting, measured."""

    setting: Setting
    times_s: tuple[float, ...]
    """Every counted repeat, in the order they ran: host time to the synchronised result."""
    warm_up_s: tuple[float, ...]
    """The passes before them, which pay for allocations and kernel choices; left out of every statistic."""
    device_s: tuple[float, ...] = ()
    """The device's own time of each counted repeat; empty where it has no clock of its own."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.times_s)

    @property
    def lower_s(self) -> float:
        """First quartile, interpolated as numpy does."""
        return self._quartiles[0]

    @property
    def upper_s(self) -> float:
        """Third quartile."""
        return self._quartiles[2]

    @property
    def _quartiles(self) -> list[float]:
        if len(self.times_s) == 1:
            return list(self.times_s) * 3
        return statistics.quantiles(self.times_s, n=4, method="inclusive")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Measured points, with what they were measured on."""

    points: tuple[SweepPoint, ...]
    spec: ModelSpec
    dtype: str
    device: str
    threads: int
    torch_version: str
    date: str
    """ISO 8601, with the offset."""
    left_out: tuple[str, ...] = ()
    """Sentences on settings that were asked for and not measured, and why."""

    def arm(self, name: str) -> tuple[SweepPoint, ...]:
        """The points of one arm, in the order they were measured."""
        return tuple(point for point in self.points if point.setting.arm == name)


Case = Sequence[Setting]
"""Settings that are compared with each other: their repeats take turns."""
