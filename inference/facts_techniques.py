"""Facts of the optimisations: speculation, batching, chunks, prefixes and moving a cache."""

from collections.abc import Iterator
from functools import partial

from inference.acceptance import expected_gain, expected_tokens
from inference.batching import static_slots
from inference.cost import forward_work, kv_bytes
from inference.fact import Fact
from inference.facts_cache import MODELS, spec_of
from inference.facts_default import default_spec
from inference.facts_hardware import machine, ridge, sixteen_bit
from inference.facts_speed import decode, decode_s, prefill, prefill_s
from inference.links import LINKS, Link, cache_bytes, transfer_s
from inference.prefix_records import Saving, saving

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


def _tokens(percent: int, drafted: int) -> float:
    return expected_tokens(percent / 100, drafted)


def _gain(percent: int, drafted: int) -> float:
    return expected_gain(percent / 100, drafted, draft_cost=DRAFT_COST)


def _kept(percent: int, drafted: int) -> float:
    """Share of the drafted tokens that stand: all tokens of a pass but its own, over the drafted."""
    return (_tokens(percent, drafted) - 1) / drafted


def check_cost(model: str, num_tokens: int) -> float:
    """Weights that a pass over `num_tokens` reads, over those of a plain step: what it costs while memory-bound.

    1 for a dense model. Of a mixture each token reads experts of its own: 1 - (1 - k / E)^n of them, if routing is
    even. Caches and activations are left out: 1 % of a step with a short context.
    """
    one, many = (
        forward_work(spec_of(model), num_query_tokens=n, context_len=n).weight_bytes for n in (1, num_tokens)
    )
    return many / one


def _mixture_gain(model: str) -> float:
    return expected_gain(0.8, 4, draft_cost=DRAFT_COST, pass_cost=check_cost(model, 5))


def _stall_s() -> float:
    return prefill_s("8b", PROMPT, "h100")


def _stall_tokens() -> float:
    return _stall_s() / decode_s("8b", CONTEXT, "h100", STREAMS)


def _published() -> Saving:
    return saving(spec_of("8b"), prompt_tokens=2100, cached_tokens=2000)


def _own() -> Saving:
    return saving(default_spec(), prompt_tokens=1100, cached_tokens=1000)


def _moved(model: str) -> float:
    return cache_bytes(spec_of(model), PROMPT)


def _moved_s(model: str, link: Link) -> float:
    return transfer_s(spec_of(model), PROMPT, link)


def _bandwidth(link: Link) -> float:
    return link.bandwidth


def _speculation() -> Iterator[Fact]:
    for percent in (50, 60, 70, 80, 90):
        for drafted in (2, 4, 7):
            at, what = (percent, drafted), f"{drafted} drafted, {percent} % accepted"
            cost = f"a draft costs {DRAFT_COST:.0%} of a step"
            yield Fact(
                f"speculation_tokens_{percent}_{drafted}", partial(_tokens, *at), "x", f"tokens/pass: {what}"
            )
            yield Fact(f"speculation_gain_{percent}_{drafted}", partial(_gain, *at), "x", f"speed: {what}, {cost}")
    yield Fact("speculation_most_4", partial(_tokens, 100, 4), "int", "tokens per pass at most, 4 drafted")
    yield Fact("speculation_least_4", partial(_tokens, 0, 4), "int", "tokens per pass at least, 4 drafted")
    yield Fact("speculation_kept_80_4", partial(_kept, 80, 4), "percent", "of 4 drafted tokens that stand, 80 %")
    mixture = f"{MODELS['qwen3_30b']}, even routing, empty cache"
    yield Fact("speculation_check_qwen3_30b_4", partial(check_cost, "qwen3_30b", 5), "x",
               f"steps that a pass over 5 tokens takes: {mixture}")  # fmt: skip
    yield Fact("speculation_gain_qwen3_30b_80_4", partial(_mixture_gain, "qwen3_30b"), "x",
               f"speed: 4 drafted, 80 % accepted, {mixture}")  # fmt: skip
    full = "sequences at which verifying 4 drafts each brings an H100 to its ridge"
    yield Fact("speculation_crossover_batch_4_h100", lambda: ridge("h100") / 5, "int", full)


def _batching() -> list[Fact]:
    useful, offered = static_slots(OUTPUTS, len(OUTPUTS))
    mixed = f"a step with {CHUNK} prompt tokens and {STREAMS} decoding streams, 8B on an H100"
    stall = f"a prefill of {PROMPT:,} tokens that {STREAMS} decoding streams wait for, 8B on an H100"
    return [
        Fact("static_useful", lambda: useful, "int", "slots used: a static batch of 8 with outputs 50, 100 .. 400"),
        Fact("static_offered", lambda: offered, "int", "slots in all, as everybody waits for the longest"),
        Fact("static_share", lambda: useful / offered, "percent", "of the slots that are useful"),
        Fact("static_idle_share", lambda: 1 - useful / offered, "percent", "of the slots that are idle"),
        Fact("stall_s_8b_2048", _stall_s, "seconds", stall),
        Fact("stall_tokens_8b_2048", _stall_tokens, "int", f"tokens each stream loses by {stall}"),
        Fact("mixed_step_s_8b_512", partial(mixed_step_s, CHUNK, STREAMS, CONTEXT), "seconds", mixed),
        Fact("chunks_2048_512", lambda: PROMPT / CHUNK, "int", "steps the prompt then takes"),
    ]


def _prefixes() -> list[Fact]:
    return [
        Fact("prefix_cold_flops_8b", lambda: _published().cold.flops, "flop", "2,100 tokens from nothing, 8B"),
        Fact("prefix_warm_flops_8b", lambda: _published().warm.flops, "flop", "with 2,000 of them cached, 8B"),
        Fact("prefix_saved_share_8b", lambda: _published().share, "percent", "of the FLOPs saved, 8B"),
        Fact("prefix_token_share_8b", lambda: 2000 / 2100, "percent", "of the tokens that are cached"),
        Fact("prefix_kept_bytes_8b", lambda: kv_bytes(spec_of("8b"), context_len=2000), "bytes", "kept for it, 8B"),
        Fact("prefix_blocks_8b", lambda: 2000 // 16, "int", "full blocks of 16 tokens in 2,000"),
        Fact("prefix_saved_share_default", lambda: _own().share, "percent", "default model, 1,000 of 1,100 cached"),
        Fact("prefix_kept_bytes_default", lambda: kv_bytes(default_spec(), context_len=1000), "bytes", "for it"),
    ]


def _transfers() -> Iterator[Fact]:
    for name, link in _LINKS.items():
        yield Fact(f"link_{name}", partial(_bandwidth, link), "rate", f"{link.name}, one direction, nominal")
    for model in ("8b", "70b", "deepseek_v3"):
        what = f"the cache of a {PROMPT:,}-token prompt, {MODELS[model]}"
        yield Fact(f"transfer_bytes_{model}", partial(_moved, model), "bytes", what)
        for name, link in _LINKS.items():
            moving = f"moving {what} over {link.name}"
            yield Fact(f"transfer_s_{model}_{name}", partial(_moved_s, model, link), "seconds", moving)
    needed = "link as fast as one prefill worker, 8B at half of an H100's peak"
    yield Fact("needed_link_8b_half_h100", lambda: _moved("8b") / (2 * _stall_s()), "rate", needed)


FACTS: list[Fact] = [*_speculation(), *_batching(), *_prefixes(), *_transfers()]
