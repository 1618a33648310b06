"""Runs a measurement to its end in the test's own thread."""

from typing import TypeVar

from inference.experiments import Report, Work

T = TypeVar("T")


def drained(work: Work[T]) -> tuple[T, list[Report[T]]]:
    """The result, and every report on the way."""
    reports = []
    while True:
        try:
            reports.append(next(work))
        except StopIteration as end:
            result: T = end.value
            return result, reports
