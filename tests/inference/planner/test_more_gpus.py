"""Replicas, pipeline and tensor parallelism against a published table, and what holds for any model."""

from dataclasses import replace

import pytest

from inference.arithmetic.units import significant
from inference.catalogue import hardware, models
from inference.planner.deployment import Workload
from inference.planner.more_gpus import COUNTS, WAYS, Scenario, Way, predict_use, side_by_side, step_s

MODELS, HARDWARE = models(), hardware()
H100 = HARDWARE["h100-sxm-80gb"]
# Milliseconds of a decode step of one conversation with an empty cache, all at best, by tensor parallelism over
# COUNTS: 16-bit weights over the bandwidth, and two all-reduces a layer of 10 us inside a node, 30 us across.
TABLE = {
    "llama-3.1-8b": ("4.48", "2.88", "1.76", "1.20", "2.20"),
    "llama-3.1-70b": ("41.5", "22.3", "12.0", "6.8", "7.4"),
}


def both(scenario: Scenario, way: Way) -> list[float]:
    return [one.plan.itl_s for one in side_by_side(scenario)[0] if one.way == way]


@pytest.mark.parametrize("model", TABLE)
def test_the_published_table_to_the_digits_it_gives(model: str) -> None:
    for count, milliseconds in zip(COUNTS, TABLE[model], strict=True):
        digits = len(milliseconds.replace(".", ""))
        assert significant(step_s(MODELS[model], H100, count) * 1e3, digits) == milliseconds


def test_the_gains_of_eight_and_the_loss_of_sixteen() -> None:
    for model, gain in (("llama-3.1-8b", 3.7), ("llama-3.1-70b", 6.1)):
        steps = both(Scenario(MODELS[model], H100), "tensor parallel")
        assert round(steps[0] / steps[3], 1) == gain
        assert steps[4] > steps[3]


def test_a_70b_does_not_fit_one_and_fits_two() -> None:
    scenario = Scenario(MODELS["llama-3.1-70b"], H100)
    fits = {(one.way, one.count): one.plan.memory.fits for one in side_by_side(scenario)[0]}
    assert not any(fits["replicas", count] for count in COUNTS)
    assert not fits["tensor parallel", 1]
    assert all(fits[way, 2] for way in ("pipeline", "tensor parallel"))


@pytest.mark.parametrize("is_at_best", [True, False])
@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gpt2"])
def test_copies_leave_the_step_and_multiply_the_tokens(model: str, is_at_best: bool) -> None:
    for count in COUNTS:
        scenario = Scenario(MODELS[model], H100, Workload(500, 100, concurrency=3 * count), is_at_best=is_at_best)
        alone = predict_use(replace(scenario, workload=Workload(500, 100, concurrency=3)), "replicas", 1)
        copies = predict_use(scenario, "replicas", count)
        assert copies.plan.itl_s == alone.plan.itl_s
        assert copies.plan.tps_total == pytest.approx(count * alone.plan.tps_total)
        assert copies.used_bytes == count * alone.used_bytes


def test_a_pipeline_adds_its_hops_and_nothing_else() -> None:
    scenario = Scenario(MODELS["llama-3.1-8b"], H100)
    one, *more = both(scenario, "pipeline")
    # 1, 3 and 7 hops of 10 us in one machine; of 15 hops over two machines, one takes 30 us
    assert [step - one for step in more] == pytest.approx([10e-6, 30e-6, 70e-6, 14 * 10e-6 + 30e-6])


def test_no_way_is_faster_than_its_share_of_the_reading() -> None:
    for spec in MODELS.values():
        for one in side_by_side(Scenario(spec, H100))[0]:
            alone = predict_use(Scenario(spec, H100), "replicas", 1)
            assert one.plan.itl_s >= alone.plan.itl_s / one.count


def test_a_slower_link_never_helps_and_expected_is_never_faster_than_at_best() -> None:
    spec = MODELS["llama-3.1-8b"]
    for way in WAYS:
        for count in COUNTS:
            best = predict_use(Scenario(spec, H100), way, count).plan
            assert (
                predict_use(Scenario(spec, H100, inside_s=1e-3, across_s=1e-3), way, count).plan.itl_s >= best.itl_s
            )
            expected = predict_use(Scenario(spec, H100, is_at_best=False), way, count).plan
            assert expected.itl_s > best.itl_s
            assert expected.prefill_s > best.prefill_s


def test_a_small_model_is_slower_on_any_number_of_accelerators() -> None:
    one, *more = both(Scenario(MODELS["qwen3-0.6b"], H100), "tensor parallel")
    assert min(more) > one
    # 1.19e9 bytes over 3.35e12 bytes/s; over two: half of it, and 56 exchanges of 10 us
    assert (one, more[0]) == pytest.approx((0.356e-3, 0.178e-3 + 0.56e-3), rel=0.01)


def test_splits_that_cannot_be_are_left_out_with_their_reason() -> None:
    possible, refused = side_by_side(Scenario(MODELS["smollm2-135m"], H100))
    assert [one.count for one in possible if one.way == "tensor parallel"] == [1]
    assert refused == ("tensor_parallel 2 does not divide SmolLM2-135M's 9 query heads; choose 1, 3, 9",)
    possible, refused = side_by_side(Scenario(MODELS["gpt2"], H100))
    assert [one.count for one in possible if one.way == "pipeline"] == [1, 2, 4, 8]
    assert any("pipeline_parallel 16 is more than" in reason for reason in refused)


def test_what_no_way_can_serve_is_refused_once() -> None:
    with pytest.raises(ValueError, match="takes 2,048"):
        side_by_side(Scenario(MODELS["tinyllama-1.1b"], H100, Workload(2048, 500)))
    with pytest.raises(ValueError, match="must be from 1 to 4,096, got 0"):
        step_s(MODELS["llama-3.1-8b"], H100, 0)
