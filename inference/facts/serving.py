"""Facts of serving: several accelerators, life without a cache, experts, queues, and two kinds of work."""

from inference.cost import forward_work
from inference.facts.caches import spec_of
from inference.facts.default_model import default_bf16
from inference.facts.fact import Fact
from inference.facts.hardware import machine
from inference.facts.speed import decode_s, prefill_s
from inference.kv_cache.recompute import token_forwards
from inference.latency.queueing import expected_wait_s
from inference.planner.deployment import ACROSS_S, INSIDE_S
from inference.planner.more_gpus import step_s

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


def _forwards() -> tuple[int, int]:
    return token_forwards(prompt_tokens=1000, new_tokens=500)


def _default_read_s() -> float:
    return forward_work(default_bf16(), num_query_tokens=1, context_len=1).bytes / machine("h100").bandwidth


def _without_cache(length: int) -> Fact:
    what = f"times as long without a cache: the next token at {length:,} tokens, 8B on an H100"
    name = f"without_cache_factor_8b_{length}"
    return Fact(name, lambda: prefill_s("8b", length, "h100") / decode_s("8b", length, "h100"), "x", what)


def _prefill(kind: str) -> Fact:
    prompt, _ = WORKLOADS[kind]
    what = f"prefill of {prompt:,} tokens, 8B on an H100, at best"
    return Fact(f"{kind}_prefill_s_h100", lambda: prefill_s("8b", prompt, "h100"), "seconds", what)


def _decode(kind: str, name: str) -> Fact:
    prompt, output = WORKLOADS[kind]
    what = f"all decode steps: {prompt:,} tokens in, {output:,} out, 8B on one {name}, at best"
    return Fact(f"{kind}_decode_s_{name}", lambda: decode_all_s("8b", prompt, output, name), "seconds", what)


def _wait(percent: int) -> Fact:
    what = f"mean wait at {percent} % load in service times; equal ones, random arrivals"
    return Fact(f"queue_wait_{percent}", lambda: expected_wait_s((1.0,), percent / 100), "x", what)


def _experts(batch: int) -> Fact:
    what = f"of Qwen3-30B-A3B's experts that a step of {batch} tokens reads, uniform routing"
    name = f"experts_read_qwen3_30b_batch_{batch}"
    return Fact(name, lambda: touched_share("qwen3_30b", batch), "percent", what)


_PARALLEL = [
    Fact("tp_step_s_8b_1", lambda: _split_s("8b", 1), "seconds", "a step of the 8B on one H100, at best"),
    Fact("tp_step_s_8b_8", lambda: _split_s("8b", 8), "seconds", "on 8, tensor parallel"),
    Fact("tp_step_s_8b_16", lambda: _split_s("8b", 16), "seconds", "on 16, tensor parallel"),
    Fact("tp_gain_8b_8", lambda: _split_gain("8b", 8), "x", "times as fast on 8"),
    Fact(
        "tp_break_even_s_8b_16", lambda: break_even_s("8b"), "seconds", "the 8B's exchange above which 16 lose to 8"
    ),
    Fact("tp_step_s_70b_16", lambda: _split_s("70b", 16), "seconds", "a step of the 70B on 16"),
    Fact("tp_gain_70b_8", lambda: _split_gain("70b", 8), "x", "times as fast on 8 as on one that held it"),
    Fact(
        "tp_break_even_s_70b_16", lambda: break_even_s("70b"), "seconds", "the 70B's exchange above which 16 lose"
    ),
    Fact(
        "tp_message_8b", lambda: 2 * spec_of("8b").hidden_size, "binary", "what an all-reduce sums: a hidden state"
    ),
    Fact("tp_exchanges_8b", lambda: 2 * spec_of("8b").num_layers, "int", "all-reduces per step of the 8B"),
    Fact("exchange_inside_s", lambda: INSIDE_S, "seconds", "assumed: an all-reduce inside a machine"),
    Fact("exchange_across_s", lambda: ACROSS_S, "seconds", "assumed: an all-reduce between machines"),
]

_RECOMPUTE = [
    Fact("forwards_with_1000_500", lambda: _forwards()[0], "int", "tokens fed: prompt of 1,000 and 500 new tokens"),
    Fact("forwards_without_1000_500", lambda: _forwards()[1], "int", "tokens fed without the cache"),
    Fact("forwards_factor_1000_500", lambda: _forwards()[1] / _forwards()[0], "int", "times more without"),
    *(_without_cache(length) for length in (100, 1000, 16_000)),
]

_ONES = [
    Fact("weights_read_s_default_h100", _default_read_s, "seconds", "the default model's step on an H100, 16 bits"),
    Fact(
        "e2e_s_8b_h100",
        lambda: prefill_s("8b", 2048, "h100") + decode_all_s("8b", 2048, 500, "h100"),
        "seconds",
        "2,048 tokens in, 500 out, 8B on an idle H100, at best",
    ),
    Fact(
        "decode_ratio_h200_h100",
        lambda: decode_s("8b", 1, "h100") / decode_s("8b", 1, "h200"),
        "x",
        "times as fast an H200 decodes the 8B: as its bandwidth",
    ),
]

FACTS = [
    *_PARALLEL,
    *_RECOMPUTE,
    *(_prefill(kind) for kind in WORKLOADS),
    *(_decode(*at) for at in (("retrieval", "h100"), ("writing", "h100"), ("writing", "h200"))),
    *(_wait(percent) for percent in (80, 95)),
    *(_experts(batch) for batch in (1, 5, 16)),
    *_ONES,
]
