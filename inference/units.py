"""Numbers as the screen writes them: three significant digits and a unit."""

import math

_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SI = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def significant(value: float, digits: int = 3) -> str:
    """`1,234` -> 1,230; 0.5 -> 0.500; no exponent down to a millionth."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:,.{max(places, 0)}f}"


def seconds(value: float) -> str:
    """From microseconds to seconds."""
    if value >= 1:
        return f"{significant(value)} s"
    return f"{significant(value * 1e3)} ms" if value >= 1e-3 else f"{significant(value * 1e6)} µs"


def scaled(value: float, unit: str) -> str:
    """With a decimal prefix: 538e6 bytes is 538 MB."""
    for size, prefix in _SI:
        if value >= size:
            return f"{significant(value / size)} {prefix}{unit}"
    return f"{significant(value)} {unit}"


def percent(share: float) -> str:
    return f"{significant(share * 100, 2 if share < 0.1 else 3)} %"


def binary(num_bytes: float) -> str:
    """Bytes by powers of 1,024, for sizes that are one: 33,554,432 is 32 MiB."""
    for size, unit in _BINARY:
        if num_bytes >= size:
            return f"{_short(num_bytes / size)} {unit}"
    return f"{_short(num_bytes)} bytes"


def _short(value: float) -> str:
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
