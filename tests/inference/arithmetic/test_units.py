"""Numbers as the screen writes them: three digits, a unit, and never an infinity."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.arithmetic.units import UNKNOWN, binary, count, percent, scaled, seconds, significant

WRITERS = (significant, count, seconds, percent, lambda value: scaled(value, "B"))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (seconds(0), "0 s"),
        (seconds(0.5), "500 ms"),
        (seconds(-0.5), "-500 ms"),
        (significant(0.99996), "1.00"),  # not 1.000
        (seconds(12e-6), "12.0 µs"),
        (scaled(538e6, "B"), "538 MB"),
        (scaled(-538e6, "B"), "-538 MB"),
        (percent(0.089), "8.9 %"),
        (percent(1.0), "100 %"),
        (count(22.0), "22"),
        (count(81_536.4), "81,536"),
        (significant(1234), "1,230"),
        (binary(33_554_432), "32 MiB"),
    ],
)
def test_numbers_are_written_as_they_are_read_aloud(written: str, expected: str) -> None:
    assert written == expected


@given(st.sampled_from(WRITERS), st.floats(min_value=1e-9, max_value=1e18) | st.sampled_from([0.0, -1.0]))
def test_every_number_is_written_with_digits(write: object, value: float) -> None:
    assert re.match(r"-?[\d,]+(\.\d+)?( |$)", write(value))  # type: ignore[operator]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_said_to_be_unknown(value: float) -> None:
    assert {write(value) for write in WRITERS} == {UNKNOWN}
