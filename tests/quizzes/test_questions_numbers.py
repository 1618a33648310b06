"""Numbers as people type them."""

import pytest

from quizzes.kinds.typed_number import in_unit, parse


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1,234.5", "ms", 1234.5),
        ("1 234", "B", 1234),
        ("1 234 567", "B", 1234567),
        ("1e3", "ms", 1000),
        ("1.5E-3", "s", 0.0015),
        ("3.2 × 10^9", "FLOP", 3.2e9),
        (".5", "s", 0.5),
        ("−3", "s", -3),
        ("1.5 s", "ms", 1500),
        ("30ms", "s", 0.03),
        ("20 µs", "ms", 0.02),
        ("12 MiB", "MB", 12.582912),
        ("1 GB", "GiB", 1 / 1.073741824),
        ("2 KiB", "kB", 2.048),
        ("128 kibibytes", "KiB", None),
        ("0.25 GB/s", "MB/s", 250),
        ("5 GFLOPs", "FLOP", 5e9),
        ("5 TFLOPS", "GFLOP/s", 5000),
        ("12 FLOPs per byte", "FLOP/byte", 12),
        ("50 %", "%", 50),
        ("50 percent", "%", 50),
        ("3x", "x", 3),
        ("1 token", "tokens", 1),
        ("7 seconds", "ms", 7000),
        ("5", "", 5),
    ],
)
def test_a_number_is_read_with_or_without_its_unit(text: str, unit: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(
            ValueError, match="asked for in KiB, got 'kibibytes'; convert it, or leave the unit out"
        ):
            parse(text, unit)
    else:
        assert parse(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("∞", "is not a number; write digits, such as"),
        ("nan", "is not a number"),
        ("inf", "is not a number"),
        ("a lot", "is not a number"),
        ("", "is not a number"),
        (".", "is not a number"),
        ("--3", "is not a number"),
        ("٣", "is not a number"),
        ("9" * 10_000, "is not a number"),
        ("1e999", "is too large"),
        ("1,5", "can be read in more than one way"),
        ("1.234,5", "can be read in more than one way"),
        ("1,000 000", "can be read in more than one way"),
        ("1/3", "asked for in ms, got '/3'"),
        ("5 GB", "asked for in ms, got 'GB'"),
        ("5; DROP TABLE answer", "asked for in ms"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        parse(text, "ms")
    assert len(str(refused.value)) < 250


def test_base_units_are_turned_into_the_unit_asked_for() -> None:
    assert in_unit(0.05, "ms") == pytest.approx(50)
    assert in_unit(138_240, "KiB") == 135
    assert in_unit(0.25, "%") == 25
    assert in_unit(7, "tokens") == 7
