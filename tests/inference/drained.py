"""Runs a measurement to its end in the test's own thread."""

from collections.abc import Generator
from typing import TypeVar

from inference.jobs.experiments import Report, Work

T = TypeVar("T")
Y = TypeVar("Y")


def drained(work: Work[T]) -> tuple[T, list[Report[T]]]:
    """The result, and every report on the way."""
    return to_end(work)


def to_end(work: Generator[Y, None, T]) -> tuple[T, list[Y]]:
    """The result, and everything it yielded."""
    yielded = []
    while True:
        try:
            yielded.append(next(work))
        except StopIteration as end:
            result: T = end.value
            return result, yielded
