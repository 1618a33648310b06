"""Reads a typed number with or without a unit, and converts it to the unit the question asks for."""

import math
import re
from dataclasses import dataclass

_LONGEST = 60  # characters; a longer one is a paste
_DECIMAL = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}

# What a unit measures, and how many of its base unit (s, B, B/s, FLOP, FLOP/s, 1) it holds; spelled in lower case.
_KNOWN: dict[str, tuple[str, float]] = {
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "ns": ("time", 1e-9),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "share": ("share", 1.0),
    "%": ("share", 1e-2),
    "x": ("factor", 1.0),
}
for _base, _prefixes in (
    ("b", _DECIMAL | _BINARY),
    ("b/s", _DECIMAL | _BINARY),
    ("flop", _DECIMAL),
    ("flop/s", _DECIMAL),
):
    _KNOWN |= {prefix + _base: (_base, size) for prefix, size in _prefixes.items()}

_WORDS = (
    ("percent", "%"),
    ("per", "/"),
    ("bytes", "b"),
    ("byte", "b"),
    ("flops", "flop"),
    ("milliseconds", "ms"),
    ("microseconds", "us"),
    ("seconds", "s"),
    ("second", "s"),
    ("sec", "s"),
    ("minutes", "min"),
    ("times", "x"),
)
_NUMBER = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,3}(?P<group>[, ])[0-9]{3}(?:(?P=group)[0-9]{3})*|[0-9]+)?(?:\.[0-9]*)?)"
    r"(?:\s*[x*]\s*10\s*\^\s*(?P<power>[+-]?[0-9]{1,3})|e(?P<exponent>[+-]?[0-9]{1,3}))?"
    r"\s*(?P<unit>.*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a unit is understood."""

    dimension: str
    """What it measures; a unit that is not known measures itself."""
    size: float
    """In base units."""


def quantity(unit: str) -> Quantity:
    """What a unit means. One that is not in the table counts itself: tokens, passes, FLOP/byte."""
    spelled = _spelled(unit)
    return Quantity(*_KNOWN.get(spelled, (spelled.removesuffix("s"), 1.0)))


def in_unit(value: float, unit: str) -> float:
    """A value in base units, in `unit`."""
    return value / quantity(unit).size


def parse(text: str, unit: str) -> float:
    """The number that was typed, in `unit`. ValueError says what was not understood, and how to write it."""
    plain = " ".join(text.replace("\u2212", "-").replace("×", "x").split())  # split: every kind of space
    number = _NUMBER.fullmatch(plain[: _LONGEST + 1])
    remedy = "write digits, such as 1,234.5 or 1e3" + (f", with or without {unit}" if unit else "")
    if len(plain) > _LONGEST or number is None or not any(mark.isdigit() for mark in number["number"]):
        raise ValueError(f"{_short(plain)} is not a number; {remedy}")
    if number["unit"][:1] in tuple("0123456789,.+-"):
        raise ValueError(
            f"{_short(plain)} can be read in more than one way; {remedy}: a comma only between thousands"
        )
    digits = number["number"].replace(",", "").replace(" ", "")
    value = float(f"{digits}e{number['power'] or number['exponent'] or 0}")
    value *= _conversion(number["unit"], unit)
    if not math.isfinite(value):
        raise ValueError(f"{_short(plain)} is too large for a number; {remedy}")
    return value


def _conversion(typed: str, unit: str) -> float:
    if not typed:
        return 1.0
    own, asked = quantity(typed), quantity(unit)
    if own.dimension != asked.dimension:
        raise ValueError(
            f"the answer is asked for {f'in {unit}' if unit else 'without a unit'}, got {_short(typed)}; "
            "convert it, or leave the unit out"
        )
    return own.size / asked.size


def _spelled(unit: str) -> str:
    """One spelling for each unit: GFLOPS is GFLOP/s, GFLOPs is GFLOP, and micro is u."""
    spelled = re.sub(r"FLOPS$", "FLOP/s", unit.strip()).casefold().replace("μ", "u").replace(" ", "")
    for word, mark in _WORDS:
        spelled = spelled.replace(word, mark)
    return spelled


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
