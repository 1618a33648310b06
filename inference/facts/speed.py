"""Facts of time at the roofline: prefill and decode of Llama-3.1-8B on one accelerator, 16 bits."""

from functools import cache

from inference.arithmetic.spec import ModelSpec
from inference.cost import Work, forward_work, kv_bytes_per_token
from inference.facts.caches import K, spec_of
from inference.facts.fact import Fact
from inference.facts.hardware import machine, sixteen_bit
from inference.kv_cache.growth import in_bits, room


@cache
def prefill(model: str, length: int) -> Work:
    return forward_work(spec_of(model), num_query_tokens=length, context_len=length)


@cache
def decode(model: str, context_len: int, batch_size: int = 1) -> Work:
    return forward_work(spec_of(model), num_query_tokens=1, context_len=context_len, batch_size=batch_size)


def time_s(work: Work, name: str) -> float:
    """At best on this machine: the longer of arithmetic and memory."""
    return max(work.flops / sixteen_bit(name), work.bytes / machine(name).bandwidth)


def prefill_s(model: str, length: int, name: str) -> float:
    return time_s(prefill(model, length), name)


def decode_s(model: str, context_len: int, name: str, batch_size: int = 1) -> float:
    return time_s(decode(model, context_len, batch_size), name)


def bound_context(spec: ModelSpec, name: str) -> float:
    """Tokens per sequence beyond which no batch makes a whole decode step compute-bound.

    One more sequence adds 2 P + 4 L H h S FLOPs and kv S bytes (P weights a token meets, L layers, H query heads
    of width h, S tokens of context); below this S the arithmetic takes longer, above it the cache.
    """
    flops, bandwidth = sixteen_bit(name), machine(name).bandwidth
    per_key = 4 * spec.num_layers * spec.num_query_heads * spec.head_dim
    return 2 * spec.matmul_params / flops / (kv_bytes_per_token(spec) / bandwidth - per_key / flops)


def cache_read(model: str, *, streams: int, common: int, own: int, is_shared: bool) -> float:
    """Bytes of cache a decode step reads when all streams begin with the same `common` tokens.

    Plain attention reads every cache whole: kv x streams x (common + own). A kernel made for a common prefix
    reads that once: kv x (common + streams x own). Without sliding windows.
    """
    times = 1 if is_shared else streams
    return kv_bytes_per_token(spec_of(model)) * (times * common + streams * own)


def _bound_context(kv_bits: float) -> float:
    return bound_context(in_bits(spec_of("8b"), weight_bits=16, kv_bits=kv_bits), "h100")


def _cache_read(is_shared: bool) -> float:
    return cache_read("8b", streams=64, common=2000, own=200, is_shared=is_shared)


def _prefill(label: str, length: int) -> Fact:
    what = f"a prefill of {length:,} tokens, 8B on an H100"
    return Fact(f"prefill_s_8b_{label}_h100", lambda: prefill_s("8b", length, "h100"), "seconds", what)


def _intensity(length: int) -> Fact:
    what = f"FLOP/byte, a prefill of {length:,} tokens, 8B"
    return Fact(f"prefill_intensity_8b_{length}", lambda: prefill("8b", length).intensity, "x", what)


def _batch(size: int) -> Fact:
    what = f"a decode step of {size} sequences at 1,024 tokens, 8B on an H100"
    return Fact(f"decode_s_8b_1k_batch_{size}_h100", lambda: decode_s("8b", K, "h100", size), "seconds", what)


_LENGTHS = {"128": 128, "512": 512, "2048": 2 * K, "32k": 32 * K, "128k": 128 * K}

FACTS = [
    *(_prefill(label, length) for label, length in _LENGTHS.items()),
    *(_intensity(length) for length in (128, 512, 2 * K)),
    *(_batch(size) for size in (4, 16, 64)),
    Fact("weights_read_8b", lambda: decode("8b", 1).weight_bytes, "bytes", "a step: all but the input embedding"),
    Fact("decode_intensity_8b_128", lambda: decode("8b", 128).intensity, "x", "FLOP/byte, a step at 128 tokens"),
    Fact("decode_s_8b_2048_h100", lambda: decode_s("8b", 2 * K, "h100"), "seconds", "a step at 2,048 tokens"),
    Fact("decode_s_8b_128k_h100", lambda: decode_s("8b", 128 * K, "h100"), "seconds", "a step at 131,072 tokens"),
    Fact("step_s_8b_h100", lambda: decode_s("8b", 1, "h100"), "seconds", "a step with an empty context, at best"),
    Fact("tps_8b_h100", lambda: 1 / decode_s("8b", 1, "h100"), "x", "tokens/s then"),
    Fact("tps_8b_a100", lambda: 1 / decode_s("8b", 1, "a100"), "x", "tokens/s on an A100"),
    Fact(
        "bound_context_8b_h100",
        lambda: _bound_context(16),
        "int",
        "tokens beyond which no batch makes a step compute-bound, 8B on an H100",
    ),
    Fact("bound_context_8b_h100_kv8", lambda: _bound_context(8), "int", "the same with 8-bit keys and values"),
    Fact(
        "cache_read_apart_8b_64",
        lambda: _cache_read(is_shared=False),
        "bytes",
        "of cache a step of the 8B reads: 64 streams, 2,000 common tokens read for each and 200 own",
    ),
    Fact(
        "cache_read_shared_8b_64", lambda: _cache_read(is_shared=True), "bytes", "the same, common ones read once"
    ),
    Fact(
        "attention_intensity_8b",
        lambda: spec_of("8b").num_query_heads / spec_of("8b").num_kv_heads,
        "int",
        "FLOP/byte of attention in decode, 16 bits: query heads per KV head",
    ),
    Fact(
        "conversations_8b_8k_h100",
        lambda: room(spec_of("8b"), machine("h100"), context_len=8 * K).conversations,
        "int",
        "caches of 8,192 tokens that fit beside the 8B's weights in an H100",
    ),
]
