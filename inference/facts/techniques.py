"""Facts of the optimisations: speculation, batching, chunks, prefixes and moving a cache."""

from inference.arithmetic.links import LINKS, cache_bytes, transfer_s
from inference.batching.records import static_slots
from inference.cost import forward_work, kv_bytes
from inference.facts.caches import spec_of
from inference.facts.fact import Fact
from inference.facts.hardware import machine, ridge, sixteen_bit
from inference.facts.speed import decode, decode_s, prefill, prefill_s
from inference.prefix_caching.records import Saving, saving
from inference.speculation.acceptance import expected_gain, expected_tokens

DRAFT_COST = 0.05
"""Time to draft one token over that of a decode step, assumed."""
OUTPUTS = tuple(range(50, 401, 50))
"""Tokens that the eight requests of a static batch write."""
PROMPT, CHUNK, STREAMS, CONTEXT = 2048, 512, 16, 1024
"""A prompt arrives at an 8B on an H100 where others decode: its tokens, the chunk, how many, at which context."""
_LINKS = dict(zip(("10gbe", "pcie4", "400g", "nvlink"), LINKS, strict=True))


def mixed_step_s(chunk: int, batch_size: int, context_len: int) -> float:
    """One pass of the 8B on an H100 over a prompt's first chunk and decoding sequences; weights are read once."""
    first, others = prefill("8b", chunk), decode("8b", context_len, batch_size)
    num_bytes = first.bytes + others.bytes - others.weight_bytes
    return max((first.flops + others.flops) / sixteen_bit("h100"), num_bytes / machine("h100").bandwidth)


def check_cost(model: str, num_tokens: int) -> float:
    """Weights that a pass over `num_tokens` reads, over those of a plain step: what it costs while memory-bound.

    1 for a dense model. Of a mixture each token reads experts of its own: 1 - (1 - k / E)^n of them, if routing is
    even. Caches and activations are left out: 1 % of a step with a short context.
    """
    one, many = (
        forward_work(spec_of(model), num_query_tokens=n, context_len=n).weight_bytes for n in (1, num_tokens)
    )
    return many / one


def _slots() -> tuple[int, int]:
    return static_slots(OUTPUTS, len(OUTPUTS))


def _saving() -> Saving:
    return saving(spec_of("8b"), prompt_tokens=2100, cached_tokens=2000)


def _stall_s() -> float:
    return prefill_s("8b", PROMPT, "h100")


def _moved(model: str) -> float:
    return cache_bytes(spec_of(model), PROMPT)


def _tokens(percent: int, drafted: int) -> Fact:
    name = f"speculation_tokens_{percent}_{drafted}"
    what = f"tokens/pass: {drafted} drafted, {percent} % accepted"
    return Fact(name, lambda: expected_tokens(percent / 100, drafted), "x", what)


def _gain(percent: int, drafted: int) -> Fact:
    name = f"speculation_gain_{percent}_{drafted}"
    what = f"speed: {drafted} drafted, {percent} % accepted, a draft costs {DRAFT_COST:.0%} of a step"
    return Fact(name, lambda: expected_gain(percent / 100, drafted, draft_cost=DRAFT_COST), "x", what)


def _link(name: str) -> Fact:
    link = _LINKS[name]
    return Fact(f"link_{name}", lambda: link.bandwidth, "rate", f"{link.name}, one direction, nominal")


def _transfer(model: str, name: str) -> Fact:
    link = _LINKS[name]
    what = f"moving the cache of a {PROMPT:,}-token prompt, {model} over {link.name}"
    return Fact(f"transfer_s_{model}_{name}", lambda: transfer_s(spec_of(model), PROMPT, link), "seconds", what)


_SPECULATION = [
    *(_tokens(*at) for at in ((50, 2), (60, 4), (80, 4), (90, 4))),
    *(_gain(percent, drafted) for percent in (60, 80, 90) for drafted in (2, 4, 7)),
    Fact(
        "speculation_kept_80_4",
        lambda: (expected_tokens(0.8, 4) - 1) / 4,
        "percent",
        "of 4 drafted tokens that stand, 80 % accepted: all tokens of a pass but its own, over the drafted",
    ),
    Fact(
        "speculation_check_qwen3_30b_4",
        lambda: check_cost("qwen3_30b", 5),
        "x",
        "steps that a pass over 5 tokens takes: Qwen3-30B-A3B, even routing, empty cache",
    ),
    Fact(
        "speculation_gain_qwen3_30b_80_4",
        lambda: expected_gain(0.8, 4, draft_cost=DRAFT_COST, pass_cost=check_cost("qwen3_30b", 5)),
        "x",
        "speed of the same: 4 drafted, 80 % accepted",
    ),
    Fact(
        "speculation_crossover_batch_4_h100",
        lambda: ridge("h100") / 5,
        "int",
        "sequences at which verifying 4 drafts each brings an H100 to its ridge",
    ),
]

_BATCHING = [
    Fact(
        "static_useful", lambda: _slots()[0], "int", "slots used: a static batch of 8 with outputs 50, 100 .. 400"
    ),
    Fact("static_offered", lambda: _slots()[1], "int", "slots in all, as everybody waits for the longest"),
    Fact("static_share", lambda: _slots()[0] / _slots()[1], "percent", "of the slots that are useful"),
    Fact(
        "stall_tokens_8b_2048",
        lambda: _stall_s() / decode_s("8b", CONTEXT, "h100", STREAMS),
        "int",
        f"tokens that {STREAMS} decoding streams lose each by a prefill of {PROMPT:,} tokens, 8B on an H100",
    ),
    Fact(
        "mixed_step_s_8b_512",
        lambda: mixed_step_s(CHUNK, STREAMS, CONTEXT),
        "seconds",
        f"a step with {CHUNK} prompt tokens and those streams",
    ),
    Fact("chunks_2048_512", lambda: PROMPT / CHUNK, "int", "steps the prompt then takes"),
]

_PREFIXES = [
    Fact("prefix_cold_flops_8b", lambda: _saving().cold.flops, "flop", "2,100 tokens from nothing, 8B"),
    Fact("prefix_warm_flops_8b", lambda: _saving().warm.flops, "flop", "with 2,000 of them cached"),
    Fact("prefix_saved_share_8b", lambda: _saving().share, "percent", "of the FLOPs saved"),
    Fact("prefix_token_share_8b", lambda: 2000 / 2100, "percent", "of the tokens that are cached"),
    Fact("prefix_kept_bytes_8b", lambda: kv_bytes(spec_of("8b"), context_len=2000), "bytes", "kept for it"),
    Fact("prefix_blocks_8b", lambda: 2000 // 16, "int", "full blocks of 16 tokens in 2,000"),
]

_TRANSFERS = [
    *(_link(name) for name in _LINKS),
    Fact("transfer_bytes_8b", lambda: _moved("8b"), "bytes", f"the cache of a {PROMPT:,}-token prompt, 8B"),
    Fact("transfer_bytes_70b", lambda: _moved("70b"), "bytes", "the same of Llama-3.1-70B"),
    Fact("transfer_bytes_deepseek_v3", lambda: _moved("deepseek_v3"), "bytes", "the same of DeepSeek-V3"),
    *(_transfer(model, name) for model in ("8b", "70b") for name in _LINKS),
    _transfer("deepseek_v3", "400g"),
    Fact(
        "needed_link_8b_half_h100",
        lambda: _moved("8b") / (2 * _stall_s()),
        "rate",
        "link as fast as one prefill worker, 8B at half of an H100's peak",
    ),
]

FACTS = _SPECULATION + _BATCHING + _PREFIXES + _TRANSFERS
