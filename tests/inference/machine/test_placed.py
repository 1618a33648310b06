"""Points among invented round roofs, by hand; roofs that cannot be; the other dtype's roofs."""

import dataclasses
import math
from collections.abc import Generator
from typing import Any

import pytest

from inference.arithmetic.roofline import Ceilings
from inference.catalogue import models
from inference.cost import Work, forward_work
from inference.engine import Engine
from inference.jobs.experiments import Report
from inference.jobs.limits import Limits
from inference.machine.placed import Placed, doubt, place, reasons, roofs_job, work_of
from inference.machine.sweeps import Setting, Sweep, SweepPoint

ROUND = Ceilings("a machine", "float32", bandwidth=10e9, flops=100e9, overhead_s=0.010, measured_on="", threads=1)
SMOLLM2 = dataclasses.replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)
DECODE = Setting("decode", "decode", num_query_tokens=1, context_len=128, batch_size=4)
PREFILL = Setting("prefill", "prefill", num_query_tokens=512, context_len=512)


def placed(flops: float, num_bytes: float, median_s: float) -> Placed:
    times = (median_s * 0.9, median_s, median_s * 1.3)
    return Placed(SweepPoint(DECODE, times, ()), Work(flops, num_bytes, 0, 0, 0))


@pytest.mark.parametrize(
    ("one", "rate", "regime", "share"),
    [
        (placed(1e9, 1e9, 0.200), 5e9, "memory-bound", 0.5),  # bytes need 100 ms, FLOPs 10 ms
        (placed(50e9, 1e9, 0.625), 80e9, "compute-bound", 0.8),  # FLOPs need 500 ms, bytes 100 ms
        (placed(0.1e9, 0.05e9, 0.020), 5e9, "overhead-bound", 0.5),  # 10 ms of overhead against 1 and 5 ms
        (placed(0.1e9, 0.05e9, 0.040), 2.5e9, None, 0.25),  # the same explains a quarter of a longer pass
        (placed(10e9, 1e9, 0.100), 100e9, "memory-bound", 1.0),  # at the ridge, 10 FLOP/byte, both need 100 ms
    ],
)
def test_regime_and_share_of_the_roof_by_hand(one: Placed, rate: float, regime: str | None, share: float) -> None:
    assert one.rate == pytest.approx(rate)
    assert one.explained(ROUND).regime == regime
    assert one.share(ROUND) == pytest.approx(share)
    assert ROUND.ridge_point == 10


def test_the_overhead_roof_is_the_rate_of_a_pass_that_takes_the_overhead_and_no_longer() -> None:
    assert placed(1e9, 1e9, 0.2).overhead_roof(ROUND) == pytest.approx(100e9)
    assert placed(0.1e9, 1e9, 0.2).overhead_roof(ROUND) == pytest.approx(10e9)


def test_a_sweeps_points_get_the_work_of_their_settings() -> None:
    sweep = Sweep(
        (SweepPoint(PREFILL, (1.0,), ()), SweepPoint(DECODE, (2.0,), ())), SMOLLM2, "float32", "", 1, "", ""
    )
    prefill, decode = place(sweep, None)
    assert prefill.work == forward_work(SMOLLM2, num_query_tokens=512, context_len=512)
    assert decode.work == forward_work(SMOLLM2, num_query_tokens=1, context_len=128, batch_size=4)
    assert work_of(SMOLLM2, PREFILL) == prefill.work


def test_the_parts_of_a_pass_and_what_is_left_add_up_to_the_measured_time() -> None:
    # one product of the ladder takes 30 ps a weight, three times as long as 4 bytes at 400 GB/s would
    slow = dataclasses.replace(
        ROUND, bandwidth=400e9, flops=1e15, matmul_ladder=((1, 30e-12), (2048, 30e-12)), attention_flops=1e15
    )
    work = work_of(SMOLLM2, Setting("decode", "decode", num_query_tokens=1, context_len=1))
    one = Placed(SweepPoint(Setting("decode", "decode", 1, 1), (0.020,), ()), work)
    parts = reasons(one, SMOLLM2, slow)
    assert parts.roof_s == pytest.approx(work.bytes / 400e9)
    assert parts.least.overhead_s == 0.010
    assert parts.slower_s == pytest.approx(SMOLLM2.matmul_params * 30e-12 - parts.roof_s, rel=0.01)
    total = parts.roof_s + parts.least.overhead_s + parts.slower_s + parts.rest_s
    assert total == pytest.approx(parts.measured_s) == pytest.approx(0.020)
    faster = reasons(dataclasses.replace(one, point=SweepPoint(one.point.setting, (0.005,), ())), SMOLLM2, slow)
    assert faster.rest_s < 0  # more was explained than was measured, and it shows


@pytest.mark.parametrize("name", ["bandwidth", "flops", "overhead_s"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_roofs_that_cannot_be_are_not_drawn(name: str, value: float) -> None:
    changes: dict[str, Any] = {name: value}
    assert "cannot be; no roof is drawn" in doubt(dataclasses.replace(ROUND, **changes))


def test_a_bandwidth_beyond_any_memory_is_not_drawn() -> None:
    assert "more than any memory reads" in doubt(dataclasses.replace(ROUND, bandwidth=101e12))
    assert doubt(dataclasses.replace(ROUND, bandwidth=99e12)) == ""


def test_a_point_far_above_its_roof_accuses_the_roof() -> None:
    at = placed(1e9, 1e9, 0.100)  # exactly at the memory roof
    little, far = placed(1e9, 1e9, 0.100 / 1.49), placed(1e9, 1e9, 0.100 / 1.6)
    assert doubt(ROUND, [at, little]) == ""
    assert "decode at batch 4 lies 1.6 times above its roof" in doubt(ROUND, [at, far, little])


@pytest.mark.slow
@pytest.mark.measures
def test_the_other_dtypes_roofs_are_measured_on_a_model_of_that_dtype(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    found: list[Ceilings] = []

    def kept() -> Generator[Report[Ceilings], None, None]:
        found.append((yield from roofs_job("bfloat16").begin(tiny, Limits())))

    fractions = [report.fraction for report in kept()]
    assert fractions == sorted(fractions)
    assert len(fractions) > 20
    (roofs,) = found
    assert roofs.dtype == "bfloat16"
    assert doubt(roofs) == ""
    # a product of 2,048 takes a quarter of a second at 69 GFLOP/s
    if roofs.flops < 5e9:
        assert roofs.left_out[0].startswith("bfloat16 has no fast arithmetic here: ")
        assert "products of " in roofs.left_out[1]


def test_a_copy_that_does_not_fit_is_refused_before_it_is_made(tiny: Engine) -> None:
    job = roofs_job("bfloat16")
    job.begin(tiny, Limits())
    large = Engine.__new__(Engine)
    large.spec = dataclasses.replace(tiny.spec, total_params=10**15)
    large.device = tiny.device
    with pytest.raises(ValueError, match=r"a copy of the model in bfloat16 needs up to 8,000,000.0 GB"):
        job.begin(large, Limits())
