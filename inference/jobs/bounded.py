"""The one way to measure: from the smallest size up while it is cheap, giving way, and saying what was left out.

Machines differ by a factor of a thousand, so no size is known to be quick before a smaller one was timed.
"""

import statistics
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from inference.arithmetic.units import seconds
from inference.jobs.drive import Drive
from inference.jobs.experiments import Report

T = TypeVar("T")
CALL_S = 0.25
"""A call expected to take longer is not begun where it can be made smaller: others wait for it to end."""
PASS_S = 10.0
"""The same for one forward pass at a length somebody asked for."""


class Budget:
    """The seconds one measurement may take in all, and the longest that one call of it may take."""

    def __init__(self, total_s: float, longest_s: float = CALL_S) -> None:
        self.total_s, self.longest_s, self.spent_s = total_s, longest_s, 0.0

    def spend(self, spent_s: float) -> None:
        self.spent_s += spent_s

    def refusal(self, call_s: float, num_calls: int = 1) -> str:
        """Why calls expected to take so long are not begun, as a clause; empty if they may be."""
        if call_s > self.longest_s:
            return f"one was expected to take {seconds(call_s)}, and others wait meanwhile"
        if self.spent_s + call_s * num_calls > self.total_s:
            return f"the {seconds(self.total_s)} for all of it would not have been enough"
        return ""


@dataclass(frozen=True, slots=True)
class Size:
    """One size of a piece of work."""

    name: str
    work: float
    """What its time is expected to grow with: FLOPs, bytes, tokens."""
    prepare: Callable[[], Callable[[], object]]
    """Makes the inputs, and gives the call that is timed; it returns when the device has finished."""


@dataclass(frozen=True, slots=True)
class TimedSize:
    """Every counted repeat of one size; the warm-up before them is left out."""

    work: float
    times_s: tuple[float, ...]

    @property
    def best_s(self) -> float:
        """Other programs only ever make it longer."""
        return min(self.times_s)

    @property
    def quartiles_s(self) -> tuple[float, float, float]:
        if len(self.times_s) == 1:
            return self.times_s * 3
        lower, median, upper = statistics.quantiles(self.times_s, n=4, method="inclusive")
        return lower, median, upper


@dataclass(frozen=True, slots=True)
class Climb:
    """The sizes that were timed, from the smallest up."""

    timed: tuple[TimedSize, ...]
    left_out: str = ""
    """The first size that was not, and why; empty if all were."""


def climb(sizes: Sequence[Size], budget: Budget, *, repeats: int) -> Generator[float, None, Climb]:
    """Time each size until the next would be too long; yields the fraction done after every call.

    The first size is timed whatever it takes: it has to be chosen small enough.
    """
    timed: list[TimedSize] = []
    for place, size in enumerate(sizes):
        expected_s = timed[-1].best_s * size.work / timed[-1].work if timed else 0.0
        if why := budget.refusal(expected_s):
            return Climb(tuple(timed), f"{size.name}: {why}")
        timed.append((yield from part(_repeated(size, budget, repeats), place, len(sizes))))
    return Climb(tuple(timed))


def part(work: Generator[float, None, T], place: int, num_parts: int) -> Generator[float, None, T]:
    """One of several measurements in a row: yields the fraction of all of them."""
    drive = Drive(work)
    for fraction in drive:
        yield (place + fraction) / num_parts
    return drive.result


def reported(work: Generator[object, None, T], doing: str, at: float = 0.0) -> Generator[Report[Any], None, T]:
    """As a part of an experiment that is not counted in its progress: every call is a report with these words."""
    drive = Drive(work)
    for _ in drive:
        yield Report(at, doing=doing)
    return drive.result


def _repeated(size: Size, budget: Budget, repeats: int) -> Generator[float, None, TimedSize]:
    run = size.prepare()
    times_s: list[float] = []
    for repeat in range(repeats + 1):
        start = time.perf_counter()
        run()
        spent_s = time.perf_counter() - start
        budget.spend(spent_s)
        if repeat:  # the first one warms up
            times_s.append(spent_s)
            if budget.refusal(min(times_s)):
                break
        yield repeat / (repeats + 1)
    return TimedSize(size.work, tuple(times_s))
