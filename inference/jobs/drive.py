"""A measurement run inside another, or to its end: what it yields on the way, and what it returns."""

from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
Y = TypeVar("Y")


class Drive(Generic[Y, T]):
    """For a for loop over the work; `result` is there once the loop has come to its end."""

    result: T

    def __init__(self, work: Generator[Y, None, T]) -> None:
        self._work = work

    def __iter__(self) -> Iterator[Y]:
        self.result = yield from self._work


def drained(work: Generator[Y, None, T]) -> tuple[T, list[Y]]:
    """The result, and everything yielded on the way."""
    drive = Drive(work)
    yielded = list(drive)
    return drive.result, yielded
