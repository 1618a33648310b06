"""Reading and writing on the same machines: whole passes against their parts, and which machine wins what."""

import pytest

from inference.catalogue import hardware, models
from inference.planner.compare import compare
from inference.planner.deployment import Workload

MODELS, HARDWARE = models(), hardware()
EIGHT_B = MODELS["llama-3.1-8b"]
RETRIEVAL, WRITING = Workload(8192, 128, 8), Workload(256, 2048, 8)
TRIO = [HARDWARE[name] for name in ("l40s", "rtx-5090", "h100-sxm-80gb")]


@pytest.mark.parametrize("work", [RETRIEVAL, WRITING])
def test_a_conversation_costs_what_a_busy_machine_serves_a_second(work: Workload) -> None:
    for one in compare(EIGHT_B, work, TRIO)[0]:
        assert one.total_s == pytest.approx(work.output_tokens / one.plan.tps_total)
        assert one.prefill_s / one.total_s == pytest.approx(one.plan.prefill_share)


def test_by_the_roofline_an_l40s_reads_faster_and_an_rtx_5090_writes_faster() -> None:
    # 362.05 against 209.5 TFLOP/s, 864 against 1,792 GB/s
    reading, writing = (compare(EIGHT_B, work, TRIO[:2], is_at_best=True)[0] for work in (RETRIEVAL, WRITING))
    read, wrote = ({one.plan.hardware.id: one for one in found} for found in (reading, writing))
    assert read["rtx-5090"].prefill_s / read["l40s"].prefill_s == pytest.approx(362.05 / 209.5)
    assert wrote["l40s"].decode_s / wrote["rtx-5090"].decode_s == pytest.approx(1792 / 864)


@pytest.mark.parametrize("is_at_best", [True, False])
def test_the_order_of_two_machines_changes_with_the_work(is_at_best: bool) -> None:
    orders = [
        [one.plan.hardware.id for one in compare(EIGHT_B, work, TRIO, is_at_best=is_at_best)[0]]
        for work in (RETRIEVAL, WRITING)
    ]
    assert orders == [["h100-sxm-80gb", "l40s", "rtx-5090"], ["h100-sxm-80gb", "rtx-5090", "l40s"]]


def test_of_a_machine_that_is_too_small_both_count() -> None:
    ((one,), _) = compare(MODELS["llama-3.1-70b"], WRITING, [HARDWARE["h100-sxm-80gb"]])
    assert one.plan.deployment.tensor_parallel == 2  # 141.1 GB of weights and 6.04 GB of caches
    assert one.prefill_s == 2 * one.plan.prefill_s
    assert one.rank.whole_decides == "memory"


def test_a_machine_without_a_plan_is_missing_with_its_reason() -> None:
    costs, (reason,) = compare(EIGHT_B, WRITING, [HARDWARE["2x-epyc-9654"]])
    assert costs == ()
    assert "has no sourced peak" in reason
