"""A named number that lessons and quizzes quote, and the ways to write one."""

from collections.abc import Callable
from dataclasses import dataclass

from inference.arithmetic.units import binary, percent, scaled, seconds, significant

FORMATS: dict[str, Callable[[float], str]] = {
    "int": lambda value: f"{round(value):,}",
    "x": significant,
    "plain": lambda value: f"{value:g}",
    "percent": percent,
    "bytes": lambda value: scaled(value, "B"),
    "binary": binary,
    "seconds": seconds,
    "flop": lambda value: scaled(value, "FLOP"),
    "flops": lambda value: scaled(value, "FLOP/s"),
    "rate": lambda value: scaled(value, "B/s"),
}
"""By the word after the colon in `{{name:format}}`."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One number, computed when it is asked for."""

    name: str
    compute: Callable[[], float]
    format: str
    """How it is written where nothing else is asked for, a key of FORMATS."""
    source: str
    """What it is and what it rests on, in a few words."""


class UnknownFact(KeyError):
    """No such fact, or no such way to write one."""

    def __str__(self) -> str:
        return str(self.args[0])
