"""What optimisations change: the published worked examples at best, and what none of them may ever do."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.links import LINKS
from inference.arithmetic.spec import ModelSpec
from inference.batching.records import static_slots
from inference.catalogue import hardware, models
from inference.planner import Plan, plan
from inference.planner.deployment import Deployment, Workload, exchange_of
from inference.planner.efficiency import AT_BEST
from inference.planner.options.option import Assumptions, Change, Optimisation
from inference.planner.options.options import options
from inference.planner.options.passes import first_loss
from inference.planner.pass_time import PassTime, decode_pass, mixed_pass, prefill_pass

MODELS, HARDWARE = models(), hardware()
EIGHT_B, H100 = MODELS["llama-3.1-8b"], HARDWARE["h100-sxm-80gb"]
IDEAL = Deployment(efficiency=AT_BEST)
AT = (EIGHT_B, H100, AT_BEST, exchange_of(H100, IDEAL))
CHAT = Workload(2048, 500, 16)


def found(made: Plan, **assumed: Any) -> dict[str, Optimisation]:
    return {one.name: one for one in options(made, Assumptions(**assumed))}


def test_a_prompt_between_two_steps_costs_each_stream_six_tokens_and_a_chunk_less_than_one() -> None:
    prompt = prefill_pass(*AT, num_tokens=2048).total_s
    step = decode_pass(*AT, context_len=1024, batch_size=16).total_s
    mixed = mixed_pass(*AT, num_tokens=512, past=0, context_len=1024, batch_size=16).total_s
    assert prompt * 1e3 == pytest.approx(30, abs=0.1)
    assert step * 1e3 == pytest.approx(5.1, abs=0.05)
    assert prompt / step == pytest.approx(6, abs=0.2)
    assert mixed * 1e3 == pytest.approx(7.5, abs=0.15)


def test_a_mixed_pass_reads_the_weights_once() -> None:
    chunk = prefill_pass(*AT, num_tokens=64, past=128)
    step = decode_pass(*AT, context_len=500, batch_size=8)
    mixed = mixed_pass(*AT, num_tokens=64, past=128, context_len=500, batch_size=8)
    weights_s = 15.01e9 / 3.35e12
    assert mixed.memory_s == pytest.approx(chunk.memory_s + step.memory_s - weights_s, rel=1e-3)
    assert mixed.compute_s == chunk.compute_s + step.compute_s


def test_chunked_prefill_shortens_the_worst_gap_and_delays_the_prompt() -> None:
    option = found(plan(EIGHT_B, H100, CHAT, IDEAL))["Chunked prefill"]
    gap, ttft = option.change("Worst gap"), option.change("TTFT")
    assert gap.before * 1e3 == pytest.approx(30 + 5.9, abs=0.1)  # a prefill, and the step of 16 at 2,298 tokens
    assert 7.5e-3 < gap.after < 8.5e-3  # the last chunk attends to all before it
    assert ttft.after > ttft.before
    assert "4 passes" in option.condition


def test_chunks_as_long_as_the_prompt_are_one_pass_and_many_short_ones_are_sampled() -> None:
    made = plan(EIGHT_B, H100, CHAT, IDEAL)
    whole = found(made, chunk_tokens=4096)["Chunked prefill"].change("Worst gap")
    assert whole.after == mixed_pass(*AT, num_tokens=2048, past=0, context_len=2298, batch_size=16).total_s
    ttft = found(made, chunk_tokens=16)["Chunked prefill"].change("TTFT")  # 128 chunks
    one_by_one = sum(
        mixed_pass(*AT, num_tokens=16, past=past, context_len=2298, batch_size=16).total_s
        for past in range(0, 2048, 16)
    )
    assert ttft.after - made.ttft_s + made.prefill_s == pytest.approx(one_by_one, rel=0.01)


def test_a_static_batch_of_eight_uses_56_percent_of_its_slots() -> None:
    made = plan(EIGHT_B, H100, Workload(1, 225, 8), IDEAL)  # outputs of 50, 100 .. 400 are 225 in the mean
    option = found(made)["Continuous batching"]
    useful, slots = static_slots(range(50, 401, 50), 8)
    assert useful / slots == 0.5625
    assert "56.2 % of the slots" in option.condition
    tps = option.change("TPS, all")
    assert tps.after == made.tps_total
    assert tps.before / tps.after == pytest.approx(
        useful / slots, rel=0.02
    )  # prompts of one token are next to nothing
    assert option.change("TTFT").before > 100 * made.itl_s


# Tokens per pass and gain with a draft at 5 % of a step: Leviathan et al., equation 1 and theorem 3.8.
@pytest.mark.parametrize(
    ("acceptance", "drafted", "tokens", "gain"),
    [(0.6, 4, 2.31, 1.92), (0.8, 4, 3.36, 2.80), (0.8, 7, 4.16, 3.08), (0.9, 7, 5.70, 4.22)],
)
def test_speculation_at_batch_one(acceptance: float, drafted: int, tokens: float, gain: float) -> None:
    made = plan(EIGHT_B, H100, Workload(1, 16), IDEAL)
    option = found(made, acceptance=acceptance, num_drafted=drafted)["Speculative decoding"]
    assert option.change("Tokens per pass").after == pytest.approx(tokens, abs=0.005)
    assert option.change("Mean gap without prompts").gain == pytest.approx(gain, rel=0.003)


def test_four_drafts_bring_an_h100_to_its_ridge_at_59_sequences_and_beyond_they_lose() -> None:
    at_ridge = {
        batch: decode_pass(*AT, context_len=5, batch_size=batch, num_query_tokens=5).regime for batch in (59, 60)
    }
    assert at_ridge == {59: "memory-bound", 60: "compute-bound"}
    short = plan(EIGHT_B, H100, Workload(10, 10, 512), IDEAL)
    option = found(short)["Speculative decoding"]
    assert option.change("Mean gap without prompts").gain < 1
    assert option.change("TPS, all").gain < 1
    assert first_loss(short, Assumptions()) == 256  # 128 x 5 / 295 steps for 3.36 tokens still gain
    assert "at a batch of 256 it loses" in option.condition


def test_long_contexts_keep_speculation_worthwhile_at_any_batch() -> None:
    # Reading 8,192 tokens of cache takes 320 us a sequence; arithmetic of five tokens 75, and 22 in attention.
    long = plan(EIGHT_B, H100, Workload(8192, 10), IDEAL)
    assert first_loss(long, Assumptions()) is None
    assert "no batch loses" in found(long)["Speculative decoding"].condition


def test_drafts_nobody_accepts_lose() -> None:
    made = plan(EIGHT_B, H100, CHAT, IDEAL)
    assert found(made, acceptance=0)["Speculative decoding"].change("TPS, all").gain < 1


def test_two_thousand_shared_tokens_and_a_hundred_new_ones() -> None:
    made = plan(EIGHT_B, H100, Workload(2100, 100), IDEAL)
    option = found(made, shared_share=2000 / 2100)["Prefix caching"]
    flops = option.change("FLOPs of a prefill")
    assert flops.before == pytest.approx(3.05e13, rel=0.002)
    assert flops.after == pytest.approx(1.50e12, rel=0.003)
    assert 1 - flops.after / flops.before == pytest.approx(0.951, abs=5e-4)
    assert option.price.startswith("262 MB kept")
    assert "2,000 tokens in full blocks of 16" in option.condition
    assert option.change("TTFT").after >= 15.01e9 / 3.35e12  # the weights are read all the same


def test_a_prefix_shorter_than_a_block_and_one_that_is_the_whole_prompt() -> None:
    made = plan(EIGHT_B, H100, Workload(48, 10), IDEAL)
    nothing = found(made, shared_share=0.2)["Prefix caching"]
    assert all(one.gain == 1 for one in nothing.changes)
    assert (
        "32 tokens in full blocks" in found(made, shared_share=1)["Prefix caching"].condition
    )  # one must be computed


@pytest.mark.parametrize(
    ("model", "milliseconds"),
    [
        ("llama-3.1-8b", (215, 8.4, 5.4, 0.6)),
        ("llama-3.1-70b", (537, 21, 13.4, 1.5)),
        ("deepseek-v3", (115, 4.5, 2.9, 0.3)),
    ],
)
def test_disaggregation_waits_for_the_cache_to_move(model: str, milliseconds: tuple[float, ...]) -> None:
    made = plan(MODELS[model], H100, Workload(2048, 500, 8), IDEAL)
    for link, expected in zip(LINKS, milliseconds, strict=True):
        option = found(made, link=link)["Disaggregation"]
        moved_s = option.change("TTFT").after - made.prefill_s
        assert moved_s * 1e3 == pytest.approx(expected, abs=0.5 if expected > 20 else 0.06)
        assert option.change("Worst gap").after == made.itl_s


def test_a_pair_loses_no_throughput_only_where_both_halves_have_as_much_to_do() -> None:
    work = Workload(2048, 101, 8)
    made = plan(EIGHT_B, H100, work, IDEAL)
    # 8 prompts of 30 ms against 100 steps of 4.9 ms: the pair serves 8 in 492 ms, two alike 16 in 732
    tps = found(made)["Disaggregation"].change("TPS per accelerator")
    assert tps.gain == pytest.approx((8 * made.prefill_s + 100 * made.itl_s) / (2 * 100 * made.itl_s))
    steady = replace(made, decode=replace(made.decode, memory_s=8 * made.prefill_s / 100))
    assert found(steady)["Disaggregation"].change("TPS per accelerator").gain == pytest.approx(1)


def test_eight_bits_halve_the_cache_and_double_the_arithmetic_where_hardware_has_them() -> None:
    made = plan(EIGHT_B, H100, Workload(8191, 1, 59), IDEAL)
    room = found(made)["KV cache of 8 bits"].change("Conversations that fit")
    assert (room.before, room.after) == (59, 119)  # 63.94e9 bytes over 8,192 x 65,536
    alone = found(plan(EIGHT_B, H100, Workload(8191, 1), IDEAL))
    assert alone["Weights of 8 bits"].change("TTFT").gain == pytest.approx(2, rel=0.001)
    assert alone["Weights of 4 bits"].change("TTFT").gain == pytest.approx(1, rel=0.001)
    a100 = plan(EIGHT_B, HARDWARE["a100-sxm4-80gb"], Workload(8191, 1), IDEAL)
    assert found(a100)["Weights of 8 bits"].change("TTFT").gain == pytest.approx(1, rel=0.001)
    step = found(plan(EIGHT_B, H100, Workload(1, 2), IDEAL))["Weights of 8 bits"].change("ITL")
    assert step.gain == pytest.approx(2, rel=0.001)


def test_widths_that_are_there_already_are_left_out() -> None:
    made = plan(EIGHT_B, H100, CHAT, Deployment(weight_bits=8, kv_bits=8))
    assert {"KV cache of 8 bits", "Weights of 8 bits"}.isdisjoint(found(made))
    four = found(made)["Weights of 4 bits"]
    assert "products in 16 bits, slower than 8-bit floats" in four.condition
    assert four.change("TTFT").gain < 1 < four.change("ITL").gain


def test_a_mask_costs_every_step_and_gains_nothing() -> None:
    made = plan(EIGHT_B, H100, CHAT, IDEAL)
    itl = found(made, mask_s=1e-4)["Structured output"].change("ITL")
    assert itl.after - itl.before == pytest.approx(16 * 1e-4)
    assert all(one.gain == 1 for one in found(made, mask_s=0)["Structured output"].changes)


def test_one_conversation_alone_has_nothing_to_share() -> None:
    alone = found(plan(EIGHT_B, H100, replace(CHAT, concurrency=1)))
    assert [name for name, one in alone.items() if not one.changes] == [
        "Continuous batching",
        "Chunked prefill",
        "Disaggregation",
    ]


def test_a_change_that_is_not_there_is_named() -> None:
    option = found(plan(EIGHT_B, H100, CHAT))["Prefill batching"]
    with pytest.raises(ValueError, match="Prefill batching has no 'ITL'; it changes Prompt tokens/s"):
        option.change("ITL")


@pytest.mark.parametrize(
    ("assumed", "message"),
    [
        ({"acceptance": 1.2}, "acceptance must be from 0 to 1, got 1.2"),
        ({"shared_share": float("nan")}, "shared_share must be from 0 to 1, got nan"),
        ({"num_drafted": 0}, "num_drafted must be from 1 to 64, got 0"),
        ({"chunk_tokens": 0.5}, "chunk_tokens must be a whole number"),
        ({"mask_s": -1}, "mask_s must be from 0 to 1 second, got -1"),
    ],
)
def test_assumptions_out_of_range_are_refused(assumed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Assumptions(**assumed)


@pytest.mark.parametrize("is_overlapped", [False, True])
@pytest.mark.parametrize("is_summed", [False, True])
@pytest.mark.parametrize(
    "seconds", [(3.0, 2.0, 1.0, 0.5), (1.0, 4.0, 2.0, 0.0), (1.0, 1.0, 5.0, 0.1), (2, 2, 3, 0)]
)
def test_the_parts_of_a_pass_add_up_to_it(
    seconds: tuple[float, float, float, float], is_summed: bool, is_overlapped: bool
) -> None:
    one = PassTime(*seconds, is_summed=is_summed, is_overlapped=is_overlapped)
    assert sum(one.parts.values()) == pytest.approx(one.total_s)
    assert one.parts[one.regime] == max(one.parts.values())


def test_gain_counts_up_for_more_and_for_less() -> None:
    assert Change("a", 4.0, 2.0, "s").gain == 2
    assert Change("a", 4.0, 2.0, "tokens/s").gain == 0.5
    assert Change("a", 0, 0, "conversations").gain == 1
    assert Change("a", 0, 3, "conversations").gain == float("inf")


some = settings(max_examples=10, deadline=None, derandomize=True)
specs = st.sampled_from([MODELS[key] for key in ("llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "qwen3-30b-a3b")])
machines = st.sampled_from([HARDWARE[key] for key in ("h100-sxm-80gb", "l4", "m2-ultra", "mi300x")])
workloads = st.builds(Workload, st.integers(1, 3000), st.integers(1, 300), st.integers(1, 300))
deployments = st.sampled_from(
    [Deployment(), Deployment(engine="eager"), Deployment(pipeline_parallel=2, replicas=2)]
)


@some
@given(specs, machines, workloads, deployments)
def test_what_each_option_promises_and_what_it_never_does(
    spec: ModelSpec, machine: Hardware, work: Workload, deployment: Deployment
) -> None:
    made = found(plan(spec, machine, work, deployment))
    for option in made.values():
        assert all(one.before >= 0 and one.after >= 0 for one in option.changes)
        for one in option.changes:
            if option.name == "Disaggregation" and one.name == "TPS per accelerator":
                assert one.gain <= 1 + 1e-12
            if option.name in ("Disaggregation", "Chunked prefill") and one.name == "Worst gap":
                assert one.gain >= 1 - 1e-12
            if option.name.startswith(("Continuous", "KV cache", "Weights")):  # from 16 bits
                assert one.gain >= 1 - 1e-12
            if option.name == "Structured output":
                assert one.gain <= 1
    assert made["Prefix caching"].change("FLOPs of a prefill").gain >= 1
