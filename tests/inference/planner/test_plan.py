"""The planner against worked examples, and against what must hold for any model, machine and workload."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.catalogue import hardware, models
from inference.planner import at_best, plan
from inference.planner.deployment import Deployment, Workload, exchange_of, smallest_fit
from inference.planner.efficiency import AT_BEST, ENGINES, efficiency
from inference.planner.pass_time import Exchange

MODELS, HARDWARE = models(), hardware()
EIGHT_B, H100 = MODELS["llama-3.1-8b"], HARDWARE["h100-sxm-80gb"]
IDEAL = Deployment(efficiency=AT_BEST)


def test_the_worked_example_of_an_8b_on_an_h100() -> None:
    # Worked by hand: 2.97e13 FLOP at 989e12; 15.01 GB of weights and 0.27 GB of cache at 3.35e12 bytes/s.
    best = plan(EIGHT_B, H100, Workload(2048, 500), IDEAL)
    assert best.prefill_s == pytest.approx(0.030, abs=5e-4)
    assert best.itl_s == pytest.approx(4.56e-3, abs=2e-5)
    assert best.tps_per_user == pytest.approx(219, abs=0.5)
    assert best.e2e_s == pytest.approx(0.03 + 499 * 0.0046, abs=0.05)
    assert best.regimes == {"prefill": "compute-bound", "decode": "memory-bound"}


@pytest.mark.parametrize(
    ("length", "milliseconds"), [(128, 4.5), (512, 7.3), (2048, 30), (32_768, 747), (131_071, 6_400)]
)
def test_prefill_at_best(length: int, milliseconds: float) -> None:
    best = plan(EIGHT_B, H100, Workload(length, 1), IDEAL)
    assert best.prefill_s * 1e3 == pytest.approx(milliseconds, rel=0.01)


# Published for two all-reduces of 10 us per layer inside a node and 30 us across two, all at best.
@pytest.mark.parametrize(
    ("model", "milliseconds"),
    [("llama-3.1-8b", (4.48, 2.88, 1.76, 1.20, 2.20)), ("llama-3.1-70b", (41.5, 22.3, 12.0, 6.8, 7.4))],
)
def test_tensor_parallelism_at_best(model: str, milliseconds: tuple[float, ...]) -> None:
    for ways, expected in zip((1, 2, 4, 8, 16), milliseconds, strict=True):
        split = replace(IDEAL, tensor_parallel=ways, all_reduce_s=30e-6 if ways > 8 else 10e-6)
        latency_alone = replace(H100, interconnect_bandwidth=None)
        found = plan(MODELS[model], latency_alone, Workload(1, 1), split).itl_s * 1e3
        assert found == pytest.approx(expected, abs=0.006 if expected < 5 else 0.055)


def test_between_nodes_the_network_carries_the_messages() -> None:
    inside, across = (exchange_of(H100, Deployment(tensor_parallel=ways)) for ways in (8, 16))
    assert inside.link_bandwidth == 450e9
    assert (across.link_bandwidth, across.all_reduce_s) == (50e9, 30e-6)
    given = Deployment(tensor_parallel=16, link_bandwidth=100e9, all_reduce_s=5e-6)
    assert exchange_of(H100, given) == Exchange(5e-6, 100e9)


def test_replicas_and_stages_serve_more_people_but_none_faster() -> None:
    one = plan(EIGHT_B, H100, Workload(2048, 500, concurrency=8))
    many = Workload(2048, 500, concurrency=32)
    copies = plan(EIGHT_B, H100, many, Deployment(replicas=4))
    stages = plan(EIGHT_B, H100, many, Deployment(pipeline_parallel=4))
    assert copies.itl_s == one.itl_s
    assert copies.tps_total == pytest.approx(4 * one.tps_total)
    assert one.itl_s < stages.itl_s < 1.05 * one.itl_s  # eight in a step, and the hops
    assert stages.tps_total > 3.5 * one.tps_total
    assert stages.memory.total_bytes == 4 * 80e9
    assert copies.memory.total_bytes == 80e9


def test_a_replica_with_less_to_do_is_not_held_up_by_a_busier_one() -> None:
    # 4 conversations on 3 replicas: one has two of them, the others are as fast as a replica of one alone
    three = Deployment(replicas=3)
    alone, two = (plan(EIGHT_B, H100, Workload(2048, 20, concurrency=n)).tps_total for n in (1, 2))
    assert plan(EIGHT_B, H100, Workload(2048, 20, concurrency=3), three).tps_total == pytest.approx(3 * alone)
    made = plan(EIGHT_B, H100, Workload(2048, 20, concurrency=4), three)
    assert made.tps_total == pytest.approx(two + 2 * alone)
    assert plan(EIGHT_B, H100, Workload(2048, 20), three).tps_total == pytest.approx(alone)


def test_memory_of_an_8b_on_an_h100() -> None:
    # 80e9 bytes less 16.06e9 of weights, over 131,072 bytes a token: 487,800 tokens.
    for context, fits in ((1653, 295), (1654, 294), (8192, 59)):
        assert plan(EIGHT_B, H100, Workload(context - 1, 1)).memory.conversations == fits


def test_what_does_not_fit_is_said_with_the_smallest_split_that_does() -> None:
    large, work = MODELS["llama-3.1-70b"], Workload(2048, 500)
    made = plan(large, H100, work)
    assert not made.memory.fits
    assert made.memory.rest_bytes == pytest.approx(80e9 - 141.1e9 - 2548 * 327_680, rel=0.001)
    assert smallest_fit(large, H100, work, Deployment()) == 2
    assert smallest_fit(MODELS["deepseek-v3"], HARDWARE["t4"], work, Deployment()) == 128
    assert smallest_fit(MODELS["llama-3.1-405b"], HARDWARE["t4"], work, Deployment()) == 64
    assert smallest_fit(MODELS["qwen2.5-7b"], HARDWARE["t4"], Workload(100_000, 1, 400), Deployment()) is None


def test_a_cache_of_few_kv_heads_is_kept_several_times() -> None:
    work = Workload(1024, 1)
    split = {ways: plan(EIGHT_B, H100, work, Deployment(tensor_parallel=ways)).memory for ways in (1, 8, 16)}
    assert split[8].cache_bytes == split[1].cache_bytes
    assert split[16].cache_bytes == 2 * split[1].cache_bytes
    latent = MODELS["deepseek-v3"]
    mla = [plan(latent, H100, work, Deployment(tensor_parallel=ways)).memory.cache_bytes for ways in (1, 8)]
    assert mla[1] == 8 * mla[0]


def test_an_eager_step_takes_the_larger_of_clock_and_bytes_and_a_graph_both() -> None:
    small, a100 = MODELS["qwen2.5-0.5b"], HARDWARE["a100-sxm4-80gb"]
    eager, graph = (plan(small, a100, Workload(1, 1), Deployment(engine=engine)) for engine in ("eager", "serving"))
    assert eager.itl_s == eager.decode.layers_s == 24 * efficiency("eager", a100).layer_s
    assert graph.itl_s == graph.decode.memory_s + graph.decode.layers_s
    assert eager.regimes["decode"] == "overhead-bound"


def test_a_short_prefill_is_the_sum_of_weights_and_arithmetic() -> None:
    made = plan(EIGHT_B, H100, Workload(128, 1))
    assert made.prefill_s == made.prefill.memory_s + made.prefill.compute_s + made.prefill.layers_s
    assert at_best(made).prefill_s == max(at_best(made).prefill.memory_s, at_best(made).prefill.compute_s)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_default_is_the_datasheet(engine: str) -> None:
    for machine in HARDWARE.values():
        rates = efficiency(engine, machine)
        assert max(rates.bandwidth_share, rates.flops_share, rates.attention_share) < 1
        assert rates.layer_s > 0


def test_prompts_of_others_stretch_the_mean_gap_and_not_the_step() -> None:
    made = plan(EIGHT_B, H100, Workload(2048, 101, concurrency=11))
    assert made.tpot_s == pytest.approx(made.itl_s + 10 * made.prefill_s / 100)
    assert made.burst_ttft_s == pytest.approx(11 * made.prefill_s)
    assert made.e2e_s == pytest.approx(made.ttft_s + 100 * made.tpot_s)
    assert made.tps_total == pytest.approx(11 * 101 / (11 * made.prefill_s + 100 * made.itl_s))


@pytest.mark.parametrize(
    ("work", "deployment", "message"),
    [
        ({"prompt_tokens": 0}, {}, "prompt_tokens must be from 1 to 10,000,000, got 0"),
        ({"prompt_tokens": -5}, {}, "got -5"),
        ({"output_tokens": 1.5}, {}, "output_tokens must be a whole number"),
        ({"output_tokens": "many"}, {}, "got 'many'"),
        ({"concurrency": 10**9}, {}, "concurrency must be from 1 to 1,000,000, got 1,000,000,000"),
        ({"prompt_tokens": 131_000}, {}, "131,000 tokens in and 500 out are 131,500; Llama-3.1-8B takes 131,072"),
        (
            {},
            {"tensor_parallel": 3},
            "tensor_parallel 3 does not divide Llama-3.1-8B's 32 query heads; choose 1, 2, 4",
        ),
        ({}, {"pipeline_parallel": 33}, "more than Llama-3.1-8B's 32 layers"),
        ({}, {"weight_bits": 0}, "weight_bits must be from 0.5 to 64 bits, got 0"),
        ({}, {"weight_bits": float("nan")}, "weight_bits must be from 0.5 to 64 bits, got nan"),
        ({}, {"kv_bits": "16"}, "kv_bits must be a number from 0.5 to 64 bits, got '16'; write it without quotes"),
        ({}, {"engine": "magic"}, "engine must be one of eager, serving, compiled, llama.cpp, megakernel"),
        ({}, {"link_bandwidth": -1.0}, "link_bandwidth must be"),
        ({}, {"all_reduce_s": "fast"}, "all_reduce_s must be a number from 0 to 1 second, got 'fast'"),
    ],
)
def test_bad_input_is_refused_with_its_rule(work: dict[str, Any], deployment: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(
            EIGHT_B,
            H100,
            Workload(**{"prompt_tokens": 2048, "output_tokens": 500, **work}),
            Deployment(**deployment),
        )


def test_a_machine_without_a_peak_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"EPYC.* has no sourced peak FLOP/s.*describe it as hardware of your own"):
        plan(EIGHT_B, HARDWARE["2x-epyc-9654"], Workload(10, 10))


some = settings(max_examples=60, deadline=None, derandomize=True)
specs = st.sampled_from(list(MODELS.values()))
machines = st.sampled_from([each for each in HARDWARE.values() if each.peak_flops or each.estimated_flops])
deployments = st.sampled_from([Deployment(engine=engine, replicas=n) for engine in ENGINES for n in (1, 3)])
workloads = st.builds(Workload, st.integers(1, 700), st.integers(1, 300), st.integers(1, 300))


@some
@given(specs, machines, workloads, deployments, st.floats(1, 100))
def test_more_bandwidth_never_slows_decode(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment, times: float
) -> None:
    wider = replace(machine, bandwidth=machine.bandwidth * times)
    assert plan(spec, wider, work, deployment).itl_s <= plan(spec, machine, work, deployment).itl_s


@some
@given(specs, machines, workloads, deployments, st.floats(1, 100))
def test_more_flops_never_slow_prefill(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment, times: float
) -> None:
    peaks = {dtype: peak * times for dtype, peak in machine.peak_flops.items()}
    faster = replace(machine, peak_flops=peaks)
    assert plan(spec, faster, work, deployment).prefill_s <= plan(spec, machine, work, deployment).prefill_s


@some
@given(specs, machines, workloads, deployments, st.integers(1, 24))
def test_a_longer_prompt_never_lowers_ttft(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment, more: int
) -> None:
    longer = replace(work, prompt_tokens=work.prompt_tokens + more)
    assert plan(spec, machine, longer, deployment).ttft_s >= plan(spec, machine, work, deployment).ttft_s


@some
@given(specs, machines, workloads, deployments, st.integers(1, 300))
def test_a_larger_batch_never_lowers_the_total(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment, more: int
) -> None:
    larger = replace(work, concurrency=work.concurrency + more)
    before, after = (plan(spec, machine, each, deployment).tps_total for each in (work, larger))
    assert after >= before * (1 - 1e-12)


@some
@given(specs, machines, workloads)
def test_no_engine_is_faster_than_the_roofline(spec: ModelSpec, machine: Hardware, work: Workload) -> None:
    for engine in ENGINES:
        made = plan(spec, machine, work, Deployment(engine=engine))
        best = at_best(made)
        assert best.itl_s <= made.itl_s
        assert best.prefill_s <= made.prefill_s
