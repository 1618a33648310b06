"""Peaks, bandwidth and the ridge point."""

import pytest

from inference.arithmetic.hardware import Hardware, ridge_point
from inference.catalogue import hardware

BOARD = Hardware(
    id="board",
    name="Board",
    memory_bytes=8e9,
    bandwidth=1e11,
    peak_flops={"float32": 2e12},
    source="this test",
)


def test_the_ridge_point_is_peak_over_bandwidth() -> None:
    assert ridge_point(BOARD, "float32") == 20


def test_a_peak_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Board has no sourced peak for 'float16'; known: float32"):
        ridge_point(BOARD, "float16")


def test_a_record_can_key_a_cache() -> None:
    assert len({BOARD, BOARD}) == 1


def test_h200_differs_from_h100_in_bandwidth_and_hardly_in_arithmetic() -> None:
    h100, h200 = hardware()["h100-sxm-80gb"], hardware()["h200-sxm-141gb"]
    assert h200.bandwidth / h100.bandwidth == pytest.approx(1.433, abs=0.001)
    assert h200.peak_flops["bfloat16"] == pytest.approx(h100.peak_flops["bfloat16"], rel=1e-3)


def test_hardware_without_bfloat16_has_no_bfloat16_peak() -> None:
    assert "bfloat16" not in hardware()["v100-sxm2-32gb"].peak_flops
    assert "float16" in hardware()["v100-sxm2-32gb"].peak_flops


def test_an_estimate_is_never_among_the_peaks() -> None:
    m2 = hardware()["m2-ultra"]
    assert m2.estimated_flops == {"float16": 27.2e12}
    assert set(m2.peak_flops) == {"float32"}
