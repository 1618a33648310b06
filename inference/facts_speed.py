"""Facts of time at the roofline: prefill and decode of published models on one accelerator, 16 bits."""

from collections.abc import Iterator
from functools import cache, partial

from inference.cost import Work, forward_work, kv_bytes_per_token
from inference.fact import Fact
from inference.facts_cache import MODELS, spec_of
from inference.facts_hardware import machine, sixteen_bit
from inference.growth import in_bits, room
from inference.spec import ModelSpec

LENGTHS = {"128": 128, "512": 512, "2048": 2048, "8k": 8192, "32k": 32_768, "128k": 131_072}


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


def _prefill_flops(model: str, length: int) -> float:
    return prefill(model, length).flops


def _prefill_intensity(model: str, length: int) -> float:
    return prefill(model, length).intensity


def _decode_intensity(model: str, context_len: int, batch_size: int = 1) -> float:
    return decode(model, context_len, batch_size).intensity


def _kv_share(model: str, context_len: int, batch_size: int) -> float:
    work = decode(model, context_len, batch_size)
    return work.kv_read_bytes / work.bytes


def _weights_read(model: str) -> float:
    return decode(model, 1).weight_bytes


def _tokens_per_s(model: str, name: str) -> float:
    return 1 / decode_s(model, 1, name)


def _bound_context(model: str, kv_bits: float = 16) -> float:
    return bound_context(in_bits(spec_of(model), weight_bits=16, kv_bits=kv_bits), "h100")


def cache_read(model: str, *, streams: int, common: int, own: int, is_shared: bool) -> float:
    """Bytes of cache a decode step reads when all streams begin with the same `common` tokens.

    Plain attention reads every cache whole: kv x streams x (common + own). A kernel made for a common prefix
    reads that once: kv x (common + streams x own). Without sliding windows.
    """
    times = 1 if is_shared else streams
    return kv_bytes_per_token(spec_of(model)) * (times * common + streams * own)


def _conversations(model: str, context_len: int) -> float:
    return room(spec_of(model), machine("h100"), context_len=context_len).conversations


def _heads_shared(model: str) -> float:
    return spec_of(model).num_query_heads / spec_of(model).num_kv_heads


def _passes() -> Iterator[Fact]:
    for model in ("8b", "70b"):
        for label, length in LENGTHS.items():
            key, at = f"{model}_{label}", (model, length)
            one = f"a prefill of {length:,} tokens, {MODELS[model]}"
            step = f"a decode step at {length:,} tokens, {MODELS[model]}"
            yield Fact(f"prefill_flops_{key}", partial(_prefill_flops, *at), "flop", one)
            yield Fact(f"prefill_intensity_{key}", partial(_prefill_intensity, *at), "x", f"FLOP/byte, {one}")
            yield Fact(f"decode_intensity_{key}", partial(_decode_intensity, *at), "x", f"FLOP/byte, {step}")
            yield Fact(f"prefill_s_{key}_h100", partial(prefill_s, *at, "h100"), "seconds", f"{one}, H100")
            yield Fact(f"decode_s_{key}_h100", partial(decode_s, *at, "h100"), "seconds", f"{step}, H100")


def _batches() -> Iterator[Fact]:
    for batch in (4, 16, 64, 256):
        what = f"a decode step of {batch} sequences"
        at = ("8b", 2048, batch)
        yield Fact(
            f"decode_intensity_8b_2048_batch_{batch}",
            partial(_decode_intensity, *at),
            "x",
            f"FLOP/byte, {what} at 2,048 tokens, 8B",
        )
        yield Fact(
            f"kv_share_8b_2048_batch_{batch}",
            partial(_kv_share, *at),
            "percent",
            f"the KV cache's share of the bytes of {what} at 2,048 tokens, 8B",
        )
        yield Fact(
            f"decode_s_8b_1k_batch_{batch}_h100",
            partial(decode_s, "8b", 1024, "h100", batch),
            "seconds",
            f"{what} at 1,024 tokens, 8B on an H100",
        )


def _machines() -> Iterator[Fact]:
    for model in ("1b", "8b", "70b", "405b"):
        read = "weights a step reads: all but the input embedding"
        yield Fact(f"weights_read_{model}", partial(_weights_read, model), "bytes", f"{MODELS[model]}: {read}")
        for name in ("h100", "h200", "a100", "l4"):
            what = f"with an empty context, {MODELS[model]} on one {name}, at best and if it fits"
            yield Fact(f"step_s_{model}_{name}", partial(decode_s, model, 1, name), "seconds", f"a step {what}")
            yield Fact(f"tps_{model}_{name}", partial(_tokens_per_s, model, name), "x", f"tokens/s {what}")


def _limits() -> Iterator[Fact]:
    for model in ("llama2_7b", "8b", "70b"):
        what = f"tokens beyond which no batch makes a step compute-bound, {MODELS[model]} on an H100"
        yield Fact(f"bound_context_{model}_h100", partial(_bound_context, model), "int", what)
    what = "the same of the 8B with 8-bit keys and values"
    yield Fact("bound_context_8b_h100_kv8", partial(_bound_context, "8b", 8), "int", what)
    for is_shared in (False, True):
        once = "read once" if is_shared else "read for each"
        common = partial(cache_read, "8b", streams=64, common=2000, own=200, is_shared=is_shared)
        what = f"of cache a step of the 8B reads: 64 streams, 2,000 common tokens {once} and 200 own"
        yield Fact(f"cache_read_{'shared' if is_shared else 'apart'}_8b_64", common, "bytes", what)
    for model in ("llama2_7b", "8b", "70b", "405b"):
        what = f"FLOP/byte of attention in decode, 16 bits: query heads per KV head, {MODELS[model]}"
        yield Fact(f"attention_intensity_{model}", partial(_heads_shared, model), "int", what)
    for label, length in (("2k", 2048), ("8k", 8192), ("32k", 32_768)):
        what = f"caches of {length:,} tokens that fit beside the 8B's weights in an H100"
        yield Fact(f"conversations_8b_{label}_h100", partial(_conversations, "8b", length), "int", what)


FACTS: list[Fact] = [*_passes(), *_batches(), *_machines(), *_limits()]
