"""Facts of the default model, SmolLM2-135M-Instruct, in float32 as it runs on a CPU."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from inference.catalogue import models
from inference.cost import forward_work, kv_bytes, kv_bytes_per_token
from inference.fact import Fact
from inference.kv_formulas import by_hidden_width, by_query_heads
from inference.operators import operators
from inference.predicted_run import NUM_TOKENS
from inference.recompute import token_forwards
from inference.scores import Scores
from inference.spec import ModelSpec

LENGTHS = (16, 64, 128, 256, 512, 1024, 2048)
_MODEL = "SmolLM2-135M-Instruct"


@cache
def default_spec() -> ModelSpec:
    return replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)


@cache
def default_bf16() -> ModelSpec:
    return models()["smollm2-135m"]


def _prefill(length: int) -> Callable[[], float]:
    return lambda: forward_work(default_spec(), num_query_tokens=length, context_len=length).flops


def _decode(length: int) -> Callable[[], float]:
    return lambda: forward_work(default_spec(), num_query_tokens=1, context_len=length).flops


def _prefill_intensity(length: int) -> Callable[[], float]:
    return lambda: forward_work(default_spec(), num_query_tokens=length, context_len=length).intensity


def _decode_intensity(length: int, batch_size: int = 1) -> Callable[[], float]:
    return lambda: (
        forward_work(default_spec(), num_query_tokens=1, context_len=length, batch_size=batch_size).intensity
    )


def _gate_intensity(length: int) -> Callable[[], float]:
    def compute() -> float:
        rows = operators(default_spec(), num_query_tokens=length, context_len=length)
        return next(row.work.intensity for row in rows if row.name == "MLP gate")

    return compute


def _weights_per_token(length: int) -> Callable[[], float]:
    return lambda: forward_work(default_spec(), num_query_tokens=length, context_len=length).weight_bytes / length


def _cache(length: int) -> Callable[[], float]:
    return lambda: kv_bytes(default_spec(), context_len=length)


_SHAPE = [
    Fact("layers_default", lambda: default_spec().num_layers, "int", f"layers of {_MODEL}"),
    Fact("query_heads_default", lambda: default_spec().num_query_heads, "int", "query heads per layer"),
    Fact("kv_heads_default", lambda: default_spec().num_kv_heads, "int", "KV heads per layer"),
    Fact("head_dim_default", lambda: default_spec().head_dim, "int", "values in one key or value"),
    Fact("hidden_size_default", lambda: default_spec().hidden_size, "int", "width of the hidden state"),
    Fact("mlp_size_default", lambda: default_spec().intermediate_size, "int", "width inside an MLP"),
    Fact("vocab_default", lambda: default_spec().vocab_size, "int", "tokens it knows: as many logits"),
    Fact("max_context_default", lambda: default_spec().max_context, "int", "most tokens it was trained to hold"),
    Fact("params_default", lambda: default_spec().total_params, "int", "parameters"),
    Fact("weights_default", lambda: default_spec().weight_bytes, "bytes", "weights in memory, float32"),
    Fact("weights_default_bf16", lambda: default_bf16().weight_bytes, "bytes", "weights in memory, bfloat16"),
    Fact(
        "weights_read_default",
        lambda: forward_work(default_spec(), num_query_tokens=1, context_len=1).weight_bytes,
        "bytes",
        "weights one pass reads, float32: once, for one token or for a thousand",
    ),
    Fact(
        "flops_per_token_default",
        lambda: 2 * default_spec().matmul_params,
        "flop",
        "one token through every matrix: 2 per weight",
    ),
]

_CACHE = [
    Fact(
        "kv_bytes_per_token_default",
        lambda: kv_bytes_per_token(default_spec()),
        "bytes",
        "one token's keys and values, float32",
    ),
    Fact(
        "kv_bytes_per_token_default_bf16",
        lambda: kv_bytes_per_token(default_bf16()),
        "bytes",
        "one token's keys and values, bfloat16",
    ),
    Fact(
        "kv_query_heads_default",
        lambda: by_query_heads(default_spec()).bytes_per_token,
        "bytes",
        "WRONG: per token if query heads are counted",
    ),
    Fact(
        "kv_query_heads_factor_default",
        lambda: by_query_heads(default_spec()).times_right,
        "x",
        "how many times too much counting query heads gives",
    ),
    Fact(
        "kv_hidden_factor_default",
        lambda: by_hidden_width(default_spec()).times_right,
        "x",
        "how many times too much counting the hidden width gives",
    ),
    *(Fact(f"cache_default_{n}", _cache(n), "bytes", f"KV cache of {n:,} tokens, float32") for n in LENGTHS),
    Fact(
        "cache_share_default_2048",
        lambda: kv_bytes(default_spec(), context_len=2048) / default_spec().weight_bytes,
        "percent",
        "KV cache of 2,048 tokens over the weights, float32",
    ),
]

_WORK = [
    *(
        fact
        for n in LENGTHS
        for fact in (
            Fact(f"prefill_flops_default_{n}", _prefill(n), "flop", f"a prefill of {n:,} tokens"),
            Fact(f"decode_flops_default_{n}", _decode(n), "flop", f"a decode step with {n:,} tokens of context"),
            Fact(
                f"prefill_intensity_default_{n}",
                _prefill_intensity(n),
                "x",
                f"FLOP/byte, a prefill of {n:,} tokens",
            ),
            Fact(
                f"decode_intensity_default_{n}",
                _decode_intensity(n),
                "x",
                f"FLOP/byte, a decode step with {n:,} tokens of context",
            ),
            Fact(
                f"weights_per_token_default_{n}",
                _weights_per_token(n),
                "bytes",
                f"weights read per prompt token in a prefill of {n:,} tokens",
            ),
        )
    ),
    *(
        Fact(
            f"decode_intensity_default_batch_{batch}",
            _decode_intensity(128, batch),
            "x",
            f"FLOP/byte, a decode step of {batch} sequences with 128 tokens each",
        )
        for batch in (2, 4, 8, 16, 32, 64)
    ),
    *(
        Fact(
            f"gate_intensity_default_{n}",
            _gate_intensity(n),
            "x",
            f"FLOP/byte of one MLP matrix with {n} token{'s' if n > 1 else ''}",
        )
        for n in (1, *LENGTHS)
    ),
]

_MORE = [
    Fact("forwards_with_default", lambda: token_forwards(prompt_tokens=128, new_tokens=128)[0], "int",
         "tokens fed with the cache: prompt of 128, 128 new"),
    Fact("forwards_without_default", lambda: token_forwards(prompt_tokens=128, new_tokens=128)[1], "int",
         "tokens fed without the cache: prompt of 128, 128 new"),
    Fact("scores_default_2048", lambda: Scores(default_spec(), 2048, 32).matrix_bytes, "bytes",
         "one head's 2,048 x 2,048 scores in one layer, float32, if they were stored"),
    Fact("scores_all_default_2048", lambda: Scores(default_spec(), 2048, 32).stored_bytes, "bytes",
         "all heads and layers of it"),
    Fact("predicted_run_tokens", lambda: NUM_TOKENS, "int", "most tokens that the run of a prediction writes"),
]  # fmt: skip

FACTS = _SHAPE + _CACHE + _WORK + _MORE
