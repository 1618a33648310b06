"""This machine in the planner: shares by hand from round roofs, and beside the estimate made of the same roofs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.roofline import Ceilings
from inference.catalogue import models
from inference.machine.sweep_jobs import BATCH_SIZES, CONTEXT_LENGTHS, PROMPT_LENGTHS, decode, prefill
from inference.machine.sweeps import Setting, SweepPoint
from inference.planner import Plan, plan
from inference.planner.deployment import Deployment, Workload
from inference.planner.own.machine import OwnPoint, held_against, median_error, own_efficiency, own_machine

SPEC = replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)
LAYER_WEIGHTS = 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536)
HEAD_WEIGHTS = 49_152 * 576

ROUND = Ceilings(
    device="test (CPU)",
    dtype="float32",
    bandwidth=20e9,
    flops=200e9,
    overhead_s=0.012,
    measured_on="2026-11-30",
    threads=2,
    # One token: 4 bytes at 8 GB/s. Several: at 5 GB/s. Then 12.5 ps for every token, 160 GFLOP/s.
    matmul_ladder=(
        *((1, 5e-10), (2, 8.25e-10), (8, 9e-10), (16, 10e-10)),
        *((128, 5e-10 + 127 * 12.5e-12), (1024, 5e-10 + 1023 * 12.5e-12)),
    ),
    attention_flops=50e9,
)

# Measured on two cores of an AMD EPYC that did nothing else: SmolLM2-135M in 32 bits.
CALM = Ceilings(
    device="AMD EPYC (CPU)",
    dtype="float32",
    bandwidth=17.2e9,
    flops=151e9,
    overhead_s=0.0143,
    measured_on="2026-11-30",
    threads=2,
    matmul_ladder=tuple(
        (num_tokens, 2 * num_tokens / (rate * 1e9))
        for num_tokens, rate in (
            *((1, 5.2), (2, 5.2), (4, 10.8), (8, 24), (16, 42), (32, 67), (64, 102), (128, 127)),
            *((256, 145), (512, 144), (1024, 144), (2048, 147)),
        )
    ),
    attention_flops=89e9,
    elementwise_s=9.6e-9,
)


def test_the_shares_are_those_of_the_roofs() -> None:
    machine, rates = own_machine(SPEC, ROUND), own_efficiency(SPEC, ROUND)
    assert machine.is_measured
    assert machine.memory_bytes is None
    assert (machine.bandwidth, machine.peak_flops) == (20e9, {"float32": 200e9})
    assert rates.bandwidth_share == pytest.approx(8 / 20)
    assert rates.batch_share == pytest.approx(5 / 20)
    assert rates.flops_share == pytest.approx(160 / 200)
    assert rates.attention_share == pytest.approx(50 / 200)
    assert rates.layer_s == pytest.approx(0.012 / 30)
    assert (rates.is_overlapped, rates.is_step_summed) == (False, True)
    accelerator = own_efficiency(SPEC, ROUND, is_overlapped=True)
    assert (accelerator.is_overlapped, accelerator.is_step_summed) == (True, False)


def planned(roofs: Ceilings, workload: Workload, *, memory_bytes: float | None = None) -> Plan:
    """The running model on this machine."""
    rates = own_efficiency(SPEC, roofs)
    deployment = Deployment(weight_bits=SPEC.weight_bits, kv_bits=SPEC.kv_bits, engine="eager", efficiency=rates)
    return plan(SPEC, replace(own_machine(SPEC, roofs), memory_bytes=memory_bytes), workload, deployment)


def test_what_stands_between_the_products_makes_every_token_longer() -> None:
    with_it = replace(ROUND, elementwise_s=9e-9)
    longer, shorter = (planned(roofs, Workload(1025, 1)).prefill_s for roofs in (with_it, ROUND))
    assert longer - shorter == pytest.approx(1025 * 30 * 576 * 9e-9, rel=0.01)  # and the LM head's share of it


def test_a_decode_step_is_its_clock_its_bytes_and_its_arithmetic_one_after_another() -> None:
    made = planned(ROUND, Workload(999, 2), memory_bytes=16e9)
    cache_bytes = 2 * 30 * 3 * 64 * 4  # of one token
    moved = (3 * 1000 + 1) * cache_bytes  # copied, which reads and writes it, then read; one token is new
    read = 4 * (LAYER_WEIGHTS + HEAD_WEIGHTS) + moved
    flops = 2 * (LAYER_WEIGHTS + HEAD_WEIGHTS) + 4 * 30 * 9 * 64 * 1000
    assert made.itl_s == pytest.approx(0.012 + read / 8e9 + flops / 160e9)
    assert made.memory.conversations == int((16e9 - SPEC.weight_bytes) // (1001 * cache_bytes))
    two = planned(ROUND, Workload(999, 2, 2))
    assert two.itl_s == pytest.approx(0.012 + (read + moved) / 5e9 + 2 * flops / 160e9)


def test_matrices_that_are_read_faster_than_the_roof_raise_it() -> None:
    slow = replace(ROUND, bandwidth=4e9, flops=100e9)
    machine, rates = own_machine(SPEC, slow), own_efficiency(SPEC, slow)
    assert machine.bandwidth == pytest.approx(8e9)
    assert rates.bandwidth_share == 1
    assert machine.peak_flops["float32"] == pytest.approx(160e9)
    assert rates.flops_share == pytest.approx(1)


def test_roofs_measured_before_the_products_were_still_serve() -> None:
    old = replace(ROUND, matmul_ladder=(), attention_flops=0.0)
    rates = own_efficiency(SPEC, old)
    assert (rates.bandwidth_share, rates.flops_share, rates.attention_share, rates.batch_share) == (1, 1, 1, None)
    with pytest.raises(ValueError, match="the first product must be of one token, got 2; measure the roofs again"):
        own_machine(SPEC, replace(ROUND, matmul_ladder=ROUND.matmul_ladder[1:]))


@pytest.mark.parametrize(
    "settings_",
    [
        [prefill(length) for length in PROMPT_LENGTHS],
        [decode(length) for length in CONTEXT_LENGTHS],
        [decode(128, size) for size in BATCH_SIZES],
    ],
    ids=["prompt", "context", "batch"],
)
def test_it_agrees_with_the_estimate_that_adds_up_operators(settings_: list[Setting]) -> None:
    points = [SweepPoint(one, (one.estimate(SPEC, CALM).total_s,), ()) for one in settings_]
    found = held_against(SPEC, CALM, points)
    assert median_error(found, settings_[0].phase) < 0.15
    assert all(one.error < 0.40 for one in found)


def test_a_point_is_held_against_its_median() -> None:
    (one,) = held_against(SPEC, ROUND, [SweepPoint(decode(16), (0.05, 0.2, 0.1), (9.0,))])
    assert one.measured_s == 0.1
    assert one.predicted_s == planned(ROUND, Workload(15, 2)).itl_s
    assert one.ratio == one.predicted_s / 0.1
    assert one.error == abs(one.ratio - 1)


def test_a_phase_without_points_has_no_error() -> None:
    found = [OwnPoint(prefill(4), 1.0, 1.1), OwnPoint(prefill(8), 1.0, 0.7), OwnPoint(prefill(16), 1.0, 1.2)]
    assert median_error(found, "prefill") == pytest.approx(0.2)
    with pytest.raises(ValueError, match="no decode was measured"):
        median_error(found, "decode")


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.floats(1, 8), st.floats(1, 8), st.integers(1, 2000))
def test_better_roofs_never_slow_a_pass(bandwidth: float, flops: float, length: int) -> None:
    better = replace(
        ROUND,
        bandwidth=ROUND.bandwidth * bandwidth,
        flops=ROUND.flops * flops,
        matmul_ladder=tuple((n, s / min(bandwidth, flops)) for n, s in ROUND.matmul_ladder),
    )
    for work in (Workload(length, 1), Workload(length, 40, 3)):
        fast, slow = (planned(roofs, work) for roofs in (better, ROUND))
        assert fast.prefill_s <= slow.prefill_s * (1 + 1e-9)
        assert fast.itl_s <= slow.itl_s * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("batch_share", 0.0, "batch_share must be above 0 and at most 1, got 0"),
        ("batch_share", 1.5, "got 1.5"),
        ("cache_passes", 0.5, "cache_passes must be from 1 to 10, got 0.5"),
        ("cache_passes", float("nan"), "got nan"),
    ],
)
def test_shares_out_of_range_are_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(own_efficiency(SPEC, ROUND), **{name: value})  # type: ignore[arg-type]  # by name
