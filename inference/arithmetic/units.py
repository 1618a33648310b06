"""Numbers as the screen writes them: three significant digits and a unit."""

import math

_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SI = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


UNKNOWN = "–"
"""In place of a number that is none: infinity and not-a-number never reach a screen."""


def significant(value: float, digits: int = 3) -> str:
    """`1,234` -> 1,230; 0.5 -> 0.500; no exponent down to a millionth."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else UNKNOWN
    rounded = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def count(value: float) -> str:
    """How many of a thing: always whole."""
    return f"{value:,.0f}" if math.isfinite(value) else UNKNOWN


def seconds(value: float) -> str:
    """From microseconds to seconds."""
    size = abs(value)
    if value == 0 or size >= 1:
        return _with_unit(value, "s")
    return _with_unit(value * 1e3, "ms") if size >= 1e-3 else _with_unit(value * 1e6, "µs")


def scaled(value: float, unit: str) -> str:
    """With a decimal prefix: 538e6 bytes is 538 MB."""
    for size, prefix in _SI:
        if abs(value) >= size:
            return _with_unit(value / size, f"{prefix}{unit}")
    return _with_unit(value, unit)


def percent(share: float) -> str:
    return _with_unit(share * 100, "%", 2 if abs(share) < 0.1 else 3)


def _with_unit(value: float, unit: str, digits: int = 3) -> str:
    return f"{significant(value, digits)} {unit}" if math.isfinite(value) else UNKNOWN


def binary(num_bytes: float) -> str:
    """Bytes by powers of 1,024, for sizes that are one: 33,554,432 is 32 MiB."""
    for size, unit in _BINARY:
        if num_bytes >= size:
            return f"{_short(num_bytes / size)} {unit}"
    return f"{_short(num_bytes)} bytes"


def _short(value: float) -> str:
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
