"""What a number that somebody typed or pasted may be; a mistake is refused before any work is done with it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """The plausible values of one quantity, wide enough for anything sold or published so far."""

    low: float
    high: float
    unit: str = ""
    remedy: str = ""
    """What to do about a value outside, in one short clause."""

    def whole(self, name: str, value: object) -> int:
        """`value`, if it is a whole number of the range; else a `ValueError` that names the field."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name} must be a whole number {self._limits}, got {shown(value)}{_unquote(value)}")
        self._check(name, value)
        return value

    def number(self, name: str, value: object) -> float:
        """`value`, if it is a number of the range; else a `ValueError` that names the field."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} must be a number {self._limits}, got {shown(value)}{_unquote(value)}")
        self._check(name, value)
        return value

    @property
    def _limits(self) -> str:
        end = "" if self.high == math.inf else f" to {self.high:,.0f}"
        return f"from {self.low:,g}{end}{self.unit and ' '}{self.unit}"

    def _check(self, name: str, value: float) -> None:
        if not self.low <= value <= self.high:  # NaN is in no range
            remedy = f"; {self.remedy}" if self.remedy else ""
            raise ValueError(f"{name} must be {self._limits}, got {shown(value)}{remedy}")


def shown(value: object) -> str:
    """A value as a message quotes it: short, whatever was given."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"a whole number of {value.bit_length():,} bits"  # Python refuses to print thousands of digits
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (dict, list, tuple, set)):
        return f"a {type(value).__name__} of {len(value):,}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _unquote(value: object) -> str:
    is_number = isinstance(value, str) and len(value) < 20 and value.strip().isdecimal()
    return "; write it without quotes" if is_number else ""


SHARE, SECOND = Range(0, 1), Range(0, 1, "second")

# Shapes. The largest open models have 126 layers, width 20,480, 256 heads, 512 experts and 10M tokens of context.
LAYERS = Range(1, 1_000)
WIDTH = Range(1, 1_000_000)
HEADS = Range(1, 10_000)
HEAD_WIDTH = Range(1, 10_000)
VOCABULARY = Range(1, 10_000_000)
CONTEXT = Range(1, 1_000_000_000)
EXPERTS = Range(1, 10_000)
COUNT = Range(0, 10_000)
"""Of what a model may have none of: shared experts, dense layers before the experts."""

# Machines. The catalogue runs from 0.3 to 8 TB/s, from 65 to 2,500 TFLOP/s at 16 bits, from 70 to 1,200 W.
MEMORY_GB = Range(0.5, 20_000, "GB", "1 TB is 1,000 GB")
BANDWIDTH_GB_S = Range(10, 100_000, "GB/s", "1 TB/s is 1,000 GB/s")
TFLOPS = Range(0.05, 100_000, "TFLOP/s", "1 PFLOP/s is 1,000 TFLOP/s")
LINK_GB_S = Range(1, 20_000, "GB/s", "8 Gbit/s are 1 GB/s, and 1 TB/s is 1,000 GB/s")
POWER_W = Range(1, 50_000, "W")
