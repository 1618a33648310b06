"""Facts of serving: several accelerators, life without a cache, experts, queues, and two kinds of work."""

from collections.abc import Iterator
from functools import partial

from inference.cost import forward_work
from inference.deployment import ACROSS_S, INSIDE_S
from inference.fact import Fact
from inference.facts_cache import MODELS, spec_of
from inference.facts_default import default_bf16
from inference.facts_hardware import machine
from inference.facts_speed import decode_s, prefill_s
from inference.more_gpus import step_s
from inference.queueing import expected_wait_s
from inference.recompute import token_forwards

WORKLOADS = {"retrieval": (8192, 128), "writing": (256, 2048)}
"""(prompt tokens, output tokens): reading documents to answer in a sentence; writing much from a short request."""


def touched_share(model: str, num_tokens: int) -> float:
    """Of the routed experts that a step with that many tokens reads, if routing is uniform."""
    moe = spec_of(model).moe
    assert moe is not None
    return float(1 - (1 - moe.experts_per_token / moe.num_experts) ** num_tokens)


def decode_all_s(model: str, prompt: int, output: int, name: str) -> float:
    """All decode steps of one answer, each counted at the context in its middle."""
    return (output - 1) * decode_s(model, prompt + output // 2, name)


def _split_s(model: str, ways: int) -> float:
    return step_s(spec_of(model), machine("h100"), ways)


def _split_gain(model: str, ways: int) -> float:
    return _split_s(model, 1) / _split_s(model, ways)


def break_even_s(model: str) -> float:
    """Seconds of an exchange between machines above which sixteen H100s lose to eight in one, at best.

    W / 16 + 2 L x = W / 8 + 2 L i, so x = i + W / (32 L): W the seconds to read all weights with one accelerator,
    L layers with two exchanges each, i the assumed exchange inside a machine.
    """
    return INSIDE_S + _split_s(model, 1) / 16 / (2 * spec_of(model).num_layers)


def _forwards(prompt: int, new: int, place: int) -> float:
    return token_forwards(prompt_tokens=prompt, new_tokens=new)[place]


def _forwards_factor(prompt: int, new: int) -> float:
    return _forwards(prompt, new, 1) / _forwards(prompt, new, 0)


def _without_factor(length: int) -> float:
    return prefill_s("8b", length, "h100") / decode_s("8b", length, "h100")


def _default_read_s() -> float:
    return forward_work(default_bf16(), num_query_tokens=1, context_len=1).bytes / machine("h100").bandwidth


def _e2e_s() -> float:
    return prefill_s("8b", 2048, "h100") + decode_all_s("8b", 2048, 500, "h100")


def _wait(percent: int) -> float:
    return expected_wait_s((1.0,), percent / 100)


def _parallel() -> Iterator[Fact]:
    for model in ("8b", "70b"):
        for ways in (1, 2, 4, 8, 16):
            what = f"{MODELS[model]} on {ways} H100, tensor parallel"
            yield Fact(f"tp_step_s_{model}_{ways}", partial(_split_s, model, ways), "seconds", f"a step: {what}")
            yield Fact(f"tp_gain_{model}_{ways}", partial(_split_gain, model, ways), "x", f"times as fast: {what}")
        lost = f"an exchange between machines above which 16 H100 lose to 8, {MODELS[model]}, at best"
        yield Fact(f"tp_break_even_s_{model}_16", partial(break_even_s, model), "seconds", lost)
    exchanged = "what one all-reduce of the 8B sums for one sequence: a hidden state in 16 bits"
    yield Fact("tp_message_8b", lambda: 2 * spec_of("8b").hidden_size, "binary", exchanged)
    for name, seconds in (("inside", INSIDE_S), ("across", ACROSS_S)):
        yield Fact(
            f"exchange_{name}_s", partial(float, seconds), "seconds", f"assumed: an all-reduce {name} a machine"
        )
    yield Fact("tp_exchanges_8b", lambda: 2 * spec_of("8b").num_layers, "int", "all-reduces per step of the 8B")


def _recompute() -> Iterator[Fact]:
    for prompt, new in ((1000, 500), (8000, 1000)):
        key, what = f"{prompt}_{new}", f"prompt of {prompt:,} and {new:,} new tokens"
        at = (prompt, new)
        yield Fact(f"forwards_with_{key}", partial(_forwards, *at, 0), "int", f"tokens fed with the cache: {what}")
        yield Fact(f"forwards_without_{key}", partial(_forwards, *at, 1), "int", f"without the cache: {what}")
        yield Fact(f"forwards_factor_{key}", partial(_forwards_factor, *at), "int", f"times more without: {what}")
    for n in (100, 295, 1000, 4000, 16_000):
        what = f"the next token at {n:,} tokens, 8B on an H100"
        yield Fact(f"step_with_cache_8b_{n}", partial(decode_s, "8b", n, "h100"), "seconds", what)
        yield Fact(
            f"step_without_cache_8b_{n}", partial(prefill_s, "8b", n, "h100"), "seconds", f"{what}, no cache"
        )
        yield Fact(f"without_cache_factor_8b_{n}", partial(_without_factor, n), "x", f"times longer: {what}")


def _workloads() -> Iterator[Fact]:
    for label, (prompt, output) in WORKLOADS.items():
        for name in ("h100", "h200", "a100", "l40s"):
            what = f"{prompt:,} tokens in, {output:,} out, 8B on one {name}, at best"
            first, rest = partial(prefill_s, "8b", prompt, name), partial(decode_all_s, "8b", prompt, output, name)
            yield Fact(f"{label}_prefill_s_{name}", first, "seconds", f"prefill: {what}")
            yield Fact(f"{label}_decode_s_{name}", rest, "seconds", f"all decode steps: {what}")


def _queues_and_experts() -> Iterator[Fact]:
    for load in (50, 80, 90, 95):
        what = f"mean wait at {load} % load in service times; equal ones, random arrivals"
        yield Fact(f"queue_wait_{load}", partial(_wait, load), "x", what)
    for batch in (1, 5, 16, 64):
        what = f"of Qwen3-30B-A3B's experts that a step of {batch} tokens reads, uniform routing"
        yield Fact(
            f"experts_read_qwen3_30b_batch_{batch}", partial(touched_share, "qwen3_30b", batch), "percent", what
        )


_ONES = [
    Fact("weights_read_s_default_h100", _default_read_s, "seconds", "the default model's step on an H100, 16 bits"),
    Fact("e2e_s_8b_h100", _e2e_s, "seconds", "2,048 tokens in, 500 out, 8B on an idle H100, at best"),
    Fact(
        "decode_ratio_h200_h100",
        lambda: decode_s("8b", 1, "h100") / decode_s("8b", 1, "h200"),
        "x",
        "times as fast an H200 decodes the 8B: as its bandwidth",
    ),
    Fact(
        "prefill_ratio_h200_h100",
        lambda: prefill_s("8b", 8192, "h100") / prefill_s("8b", 8192, "h200"),
        "x",
        "times as fast an H200 prefills 8,192 tokens: as its peak, which is equal",
    ),
    Fact(
        "prefill_rate_8b_half_h100",
        lambda: 2048 / (2 * prefill_s("8b", 2048, "h100")),
        "int",
        "prompt tokens/s of the 8B at half of an H100's peak",
    ),
]

FACTS: list[Fact] = [*_parallel(), *_recompute(), *_workloads(), *_queues_and_experts(), *_ONES]
