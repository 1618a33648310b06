"""Facts of the default model, SmolLM2-135M-Instruct, in float32 as it runs on a CPU."""

from dataclasses import replace
from functools import cache

from inference.arithmetic.operators import operators
from inference.arithmetic.spec import ModelSpec
from inference.catalogue import models
from inference.cost import Work, forward_work, kv_bytes_per_token
from inference.facts.fact import Fact
from inference.jobs.predicted_run import NUM_TOKENS
from inference.kv_cache.formulas import by_query_heads


@cache
def default_spec() -> ModelSpec:
    return replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)


@cache
def default_bf16() -> ModelSpec:
    return models()["smollm2-135m"]


def _prefill() -> Work:
    return forward_work(default_spec(), num_query_tokens=512, context_len=512)


def _step() -> Work:
    return forward_work(default_spec(), num_query_tokens=1, context_len=512)


def _gate_intensity(length: int) -> float:
    rows = operators(default_spec(), num_query_tokens=length, context_len=length)
    return next(row.work.intensity for row in rows if row.name == "MLP gate")


FACTS = [
    Fact("layers_default", lambda: default_spec().num_layers, "int", "layers"),
    Fact("query_heads_default", lambda: default_spec().num_query_heads, "int", "query heads per layer"),
    Fact("kv_heads_default", lambda: default_spec().num_kv_heads, "int", "KV heads per layer"),
    Fact("head_dim_default", lambda: default_spec().head_dim, "int", "values in one key or value"),
    Fact("hidden_size_default", lambda: default_spec().hidden_size, "int", "width of the hidden state"),
    Fact("mlp_size_default", lambda: default_spec().intermediate_size, "int", "width inside an MLP"),
    Fact("vocab_default", lambda: default_spec().vocab_size, "int", "tokens it knows: as many logits"),
    Fact("max_context_default", lambda: default_spec().max_context, "int", "most tokens it was trained to hold"),
    Fact("weights_read_default", lambda: _step().weight_bytes, "bytes", "weights one pass reads, however long"),
    Fact("kv_bytes_per_token_default", lambda: kv_bytes_per_token(default_spec()), "bytes", "keys and values"),
    Fact(
        "kv_query_heads_default",
        lambda: by_query_heads(default_spec()).bytes_per_token,
        "bytes",
        "WRONG: per token if query heads are counted",
    ),
    Fact("prefill_flops_default_512", lambda: _prefill().flops, "flop", "a prefill of 512 tokens"),
    Fact("prefill_intensity_default_512", lambda: _prefill().intensity, "x", "FLOP/byte of it"),
    Fact("decode_flops_default_512", lambda: _step().flops, "flop", "a decode step with 512 tokens of context"),
    Fact("decode_intensity_default_512", lambda: _step().intensity, "x", "FLOP/byte of it"),
    Fact("gate_intensity_default_1", lambda: _gate_intensity(1), "x", "FLOP/byte of an MLP matrix with 1 token"),
    Fact("gate_intensity_default_512", lambda: _gate_intensity(512), "x", "the same with 512 tokens"),
    Fact("predicted_run_tokens", lambda: NUM_TOKENS, "int", "most tokens that the run of a prediction writes"),
]
