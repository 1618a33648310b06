"""Every machine for one case: what decides its place, why it is refused; one machine over its concurrencies."""

from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.catalogue import hardware, models
from inference.planner import plan
from inference.planner.deployment import Deployment, Workload
from inference.planner.efficiency import AT_BEST
from inference.planner.ranking import Order, Rank, curve, ordered, rank, score

MODELS, HARDWARE = models(), hardware()
EIGHT_B, SEVENTY_B, H100 = MODELS["llama-3.1-8b"], MODELS["llama-3.1-70b"], HARDWARE["h100-sxm-80gb"]
IDEAL = Deployment(efficiency=AT_BEST)
CHAT = Workload(2048, 500)


def ranks(spec: ModelSpec, work: Workload = CHAT, deployment: Deployment = IDEAL) -> dict[str, Rank]:
    return {one.hardware.id: one for one in rank(spec, work, deployment, HARDWARE.values())}


def test_every_machine_of_the_catalogue_has_a_plan_or_a_reason() -> None:
    for spec in list(MODELS.values())[::6]:
        found = ranks(spec, Workload(512, 100))
        assert found.keys() == HARDWARE.keys()
        assert all((one.plan is None) == bool(one.refusal) for one in found.values())


def test_an_h200_decodes_faster_than_an_h100_and_prefills_no_faster() -> None:
    found = ranks(EIGHT_B)  # 4.8 against 3.35 TB/s, and 989 TFLOP/s each
    h100, h200 = found["h100-sxm-80gb"], found["h200-sxm-141gb"]
    assert score(h200, "prefill") == pytest.approx(score(h100, "prefill"), rel=1e-3)
    assert (score(h200, "ITL") or 0) / (score(h100, "ITL") or 1) == pytest.approx(4.8 / 3.35)
    assert (h100.prefill_decides, h100.decode_decides, h100.whole_decides) == ("FLOP/s", "bandwidth", "bandwidth")


def test_what_decides_the_whole_follows_the_work() -> None:
    reading = ranks(EIGHT_B, Workload(32_768, 1))["h100-sxm-80gb"]  # 747 ms of prefill, no step after it
    writing = ranks(EIGHT_B, Workload(1, 4096))["h100-sxm-80gb"]
    assert (reading.whole_decides, writing.whole_decides) == ("FLOP/s", "bandwidth")
    clock = replace(AT_BEST, layer_s=1e-2)
    slow = ranks(EIGHT_B, CHAT, Deployment(efficiency=clock))["h100-sxm-80gb"]
    assert (slow.prefill_decides, slow.decode_decides, slow.whole_decides) == ("overhead",) * 3


def test_a_model_too_large_for_one_is_split_over_the_fewest_and_memory_decides() -> None:
    found = ranks(SEVENTY_B)  # 141.1 GB of weights, 0.8 GB of cache
    assert {key: one.ways for key, one in found.items() if key in ("h100-sxm-80gb", "h200-sxm-141gb")} == {
        "h100-sxm-80gb": 2,
        "h200-sxm-141gb": 2,
    }
    split = found["h100-sxm-80gb"]
    assert split.plan == plan(SEVENTY_B, H100, CHAT, replace(IDEAL, tensor_parallel=2))
    assert split.whole_decides == "memory"
    assert found["b200-sxm"].ways == 1  # 180 GB
    assert found["b200-sxm"].whole_decides == "bandwidth"


def test_the_split_that_was_asked_for_is_kept_where_it_fits() -> None:
    four = replace(IDEAL, tensor_parallel=4)
    found = ranks(SEVENTY_B, CHAT, four)["h100-sxm-80gb"]
    assert found.plan is not None
    assert found.plan.deployment == four
    assert (found.ways, found.whole_decides) == (2, "bandwidth")


def test_refusals_say_what_is_missing() -> None:
    found = ranks(SEVENTY_B)
    assert "no sourced peak FLOP/s" in found["2x-epyc-9654"].refusal
    assert found["m4-max"].refusal.startswith("It takes 2 Apple M4 Max (40-core GPU); how fast their link is")
    assert found["m4-max"].ways == 2
    crowd = ranks(MODELS["qwen2.5-7b"], Workload(100_000, 1, 400))["t4"]
    # 400 caches of 100,001 tokens at 57,344 bytes, 15.2e9 bytes of weights; four T4 of 16e9, as 4 divides 28 heads
    assert crowd.refusal.startswith(
        "Weights and caches are 2.31 TB; 4 NVIDIA T4, the widest split of 28 query heads"
    )
    assert "hold 64.0 GB. Take fewer conversations" in crowd.refusal
    assert (crowd.ways, crowd.whole_decides) == (None, "memory")


def test_a_link_that_is_given_makes_the_split_possible() -> None:
    wired = replace(IDEAL, link_bandwidth=10e9)
    assert ranks(SEVENTY_B, CHAT, wired)["m4-max"].plan is not None


def test_what_no_machine_can_change_is_an_error() -> None:
    with pytest.raises(ValueError, match="takes 131,072"):
        ranks(EIGHT_B, Workload(131_072, 1))
    with pytest.raises(ValueError, match="does not divide"):
        ranks(EIGHT_B, CHAT, Deployment(tensor_parallel=3))


@pytest.mark.parametrize("order", get_args(Order))
def test_the_best_comes_first_and_what_is_not_known_last(order: str) -> None:
    machines = [H100, HARDWARE["2x-epyc-9654"], HARDWARE["l4"], HARDWARE["b200-sxm"]]
    prices = {"l4": 1.0, "b200-sxm": 40.0, "h100-sxm-80gb": 1.1}
    found = rank(EIGHT_B, CHAT, Deployment(), machines, prices)
    names = [one.hardware.id for one in ordered(found, order)]  # type: ignore[arg-type]
    assert names[-1] == "2x-epyc-9654"
    assert names[0] == ("h100-sxm-80gb" if order == "price" else "b200-sxm")


def test_a_machine_without_a_price_comes_last_by_price() -> None:
    found = rank(EIGHT_B, CHAT, Deployment(), HARDWARE.values(), {"t4": 0.5, "l4": 1.0})
    assert [one.hardware.id for one in ordered(found, "price")[:1]] == ["l4"]
    assert score(found[0], "price") is None


def test_what_is_per_accelerator_and_what_is_not() -> None:
    served = Deployment(tensor_parallel=2, pipeline_parallel=2, replicas=3)
    (one,) = rank(EIGHT_B, Workload(2048, 500, 24), served, [H100])
    assert one.plan is not None
    prompt_s, step_s = one.plan.prefill_s, one.plan.itl_s
    assert score(one, "prefill") == pytest.approx(2048 / prompt_s)
    assert score(one, "prefill per accelerator") == pytest.approx(
        3 * 2 * 2048 / prompt_s / 12
    )  # two under way in each
    assert score(one, "decode TPS") == pytest.approx(24 / step_s)
    assert score(one, "TPS per accelerator") == pytest.approx(one.plan.tps_total / 12)
    assert score(one, "E2E") == pytest.approx(1 / one.plan.e2e_s)


def test_the_price_of_tokens_counts_every_accelerator_of_a_split() -> None:
    (split,) = rank(SEVENTY_B, CHAT, Deployment(), [H100], {"h100-sxm-80gb": 2.5})
    assert split.plan is not None
    hours = 1e6 / split.plan.tps_total / 3600
    assert score(split, "price") == pytest.approx(1e6 / (2 * 2.5 * hours))


def test_the_last_conversation_that_fits_is_a_point_of_the_curve() -> None:
    # 80e9 bytes less 16.06e9 of weights, over 131,072 bytes a token: 59 conversations of 8,192 tokens.
    points = curve(EIGHT_B, H100, Workload(8191, 1))
    assert [(one.concurrency, one.fits) for one in points] == [
        *((number, True) for number in (1, 2, 4, 8, 16, 32, 59)),
        *((number, False) for number in (64, 128)),
    ]
    assert [one.plan.workload.concurrency for one in points] == [one.concurrency for one in points]


def test_a_curve_where_nothing_fits_and_where_no_memory_is_known() -> None:
    assert [(one.concurrency, one.fits) for one in curve(SEVENTY_B, H100, CHAT)] == [(1, False), (2, False)]
    endless = curve(EIGHT_B, replace(H100, memory_bytes=None), CHAT)
    assert [one.concurrency for one in endless] == [1 << power for power in range(11)]
    assert all(one.fits for one in endless)


some = settings(max_examples=12, deadline=None, derandomize=True)
specs = st.sampled_from(list(MODELS.values()))
machines = st.sampled_from([each for each in HARDWARE.values() if each.peak_flops or each.estimated_flops])
workloads = st.builds(Workload, st.integers(1, 700), st.integers(1, 300), st.integers(1, 300))
replicas = st.integers(1, 3).map(lambda number: Deployment(replicas=number))


@some
@given(specs, machines, workloads, replicas)
def test_along_the_curve_all_get_more_and_each_gets_less(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment
) -> None:
    points = curve(spec, machine, work, deployment)
    assert all(one.fits == one.plan.memory.fits for one in points)
    for before, after in pairwise(points):
        assert after.plan.tps_total >= before.plan.tps_total * (1 - 1e-12)
        assert after.plan.tps_per_user <= before.plan.tps_per_user * (1 + 1e-12)


@some
@given(specs, machines, workloads)
def test_a_plan_of_the_ranking_fits_and_is_the_planners_own(
    spec: ModelSpec, machine: Hardware, work: Workload
) -> None:
    (one,) = rank(spec, work, Deployment(), [machine])
    if one.plan is not None:
        assert one.plan.memory.fits
        assert one.plan == plan(spec, machine, work, one.plan.deployment)
        assert (one.whole_decides == "memory") == (one.plan.deployment.tensor_parallel > 1)
