"""The roof, the three floors and the shares."""

import dataclasses

import pytest

from inference.arithmetic.roofline import Ceilings, attainable, explained, floors
from inference.catalogue import models
from inference.cost import Work, forward_work

LAPTOP = Ceilings(
    device="cpu",
    dtype="float32",
    bandwidth=20e9,
    flops=340e9,
    overhead_s=0.010,
    measured_on="2026-11-30",
    threads=2,
)
SMOLLM2 = dataclasses.replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)
DECODE = forward_work(SMOLLM2, num_query_tokens=1, context_len=40)
PREFILL = forward_work(SMOLLM2, num_query_tokens=1024, context_len=1024)


def test_the_roof_rises_with_intensity_and_is_flat_beyond_the_ridge() -> None:
    assert LAPTOP.ridge_point == 17
    assert attainable(1, LAPTOP.bandwidth, LAPTOP.flops) == 20e9
    assert attainable(17, LAPTOP.bandwidth, LAPTOP.flops) == 340e9
    assert attainable(1000, LAPTOP.bandwidth, LAPTOP.flops) == 340e9


def test_decode_waits_for_memory_and_a_long_prefill_for_arithmetic() -> None:
    assert floors(DECODE, LAPTOP).regime == "memory-bound"
    assert floors(PREFILL, LAPTOP).regime == "compute-bound"


def test_a_fast_machine_spends_a_small_models_decode_on_overhead() -> None:
    fast = dataclasses.replace(LAPTOP, bandwidth=3e12, flops=500e12, overhead_s=0.005)
    assert floors(DECODE, fast).regime == "overhead-bound"


def test_floors_are_work_over_roofs() -> None:
    work = Work(flops=340e9, weight_bytes=30e9, kv_read_bytes=5e9, kv_write_bytes=3e9, activation_bytes=2e9)
    least = floors(work, LAPTOP)
    assert (least.compute_s, least.memory_s, least.overhead_s) == (1, 2, 0.010)
    assert least.regime == "memory-bound"


def test_below_the_ridge_point_memory_takes_longer_and_above_it_arithmetic() -> None:
    for work in (DECODE, PREFILL):
        least = floors(work, LAPTOP)
        assert (work.intensity > LAPTOP.ridge_point) == (least.compute_s > least.memory_s)


def test_shares_are_one_at_the_floor_and_half_at_twice_its_time() -> None:
    least = floors(DECODE, LAPTOP)
    assert explained(DECODE, least.memory_s, LAPTOP).reading == pytest.approx(1)
    assert explained(DECODE, 2 * least.memory_s, LAPTOP).reading == pytest.approx(0.5)
    twice_s = 2 * floors(PREFILL, LAPTOP).compute_s
    assert explained(PREFILL, twice_s, LAPTOP).arithmetic == pytest.approx(0.5)


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_time_of_nothing_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="above 0 seconds"):
        explained(DECODE, seconds, LAPTOP)


def test_a_limit_explains_a_pass_only_where_it_takes_half_of_its_time() -> None:
    least = floors(DECODE, LAPTOP)
    at_roof, far = (explained(DECODE, times * least.memory_s, LAPTOP) for times in (1, 2.01))
    assert at_roof.reading == pytest.approx(1)
    assert at_roof.regime == "memory-bound"
    assert far.reading == pytest.approx(1 / 2.01)
    assert far.regime is None
    assert far.reading + far.arithmetic + far.overhead + far.unexplained == pytest.approx(1)


def test_a_pass_faster_than_its_floor_is_above_the_roof() -> None:
    found = explained(DECODE, floors(DECODE, LAPTOP).memory_s / 1.2, LAPTOP)
    assert found.is_above_roof
    assert found.unexplained < 0
