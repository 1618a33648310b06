"""FLOPs and bytes against torch's counter, vLLM's estimate and worked numbers.

Worked numbers are roofline arithmetic on published shapes, 16-bit weights and cache unless said otherwise.
"""

import dataclasses
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from inference.arithmetic.spec import ModelSpec
from inference.catalogue import models
from inference.cost import Work, forward_work, kv_bytes, kv_bytes_per_token, operator_work

MODELS = models()
SMOLLM2 = MODELS["smollm2-135m"]
LLAMA_8B = MODELS["llama-3.1-8b"]
H100_FLOPS, H100_BANDWIDTH = 989e12, 3.35e12  # SXM, dense 16 bit

TINY = {
    **{"vocab_size": 96, "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0},
}
TINY_CONFIGS: dict[str, dict[str, Any]] = {
    "llama": TINY,
    "qwen2": TINY,
    "qwen3": TINY | {"head_dim": 16},
    "mistral": TINY | {"head_dim": None, "sliding_window": None},
    "gemma2": TINY | {"head_dim": 16},
    "phi3": TINY,
    "mixtral": TINY | {"num_local_experts": 8, "num_experts_per_tok": 2},
    "gpt2": {"vocab_size": 96, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64},
}


def uncausal_half(spec: ModelSpec, num_tokens: int) -> int:
    """FLOPs of the masked query-key pairs, which eager attention computes and throws away."""
    masked = num_tokens * num_tokens - num_tokens * (num_tokens + 1) // 2
    return 4 * spec.num_layers * spec.num_query_heads * spec.head_dim * masked


def decode_work(spec: ModelSpec, context_len: int, batch_size: int = 1) -> Work:
    return forward_work(spec, num_query_tokens=1, context_len=context_len, batch_size=batch_size)


def prefill_work(spec: ModelSpec, num_tokens: int) -> Work:
    return forward_work(spec, num_query_tokens=num_tokens, context_len=num_tokens)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", TINY_CONFIGS)
@pytest.mark.parametrize("batch_size", [1, 2])
def test_flops_are_those_torch_counts_in_eager_attention(model_type: str, batch_size: int) -> None:
    config = CONFIG_MAPPING[model_type](**TINY_CONFIGS[model_type])
    # torch does not count the grouped matmul that experts use by default
    implementation = {"attn_implementation": "eager"}
    if model_type == "mixtral":
        implementation["experts_implementation"] = "eager"
    model = AutoModelForCausalLM.from_config(config, **implementation).eval()
    spec = ModelSpec.from_config(config, name="tiny", total_params=model.num_parameters())
    prompt = torch.zeros((batch_size, 10), dtype=torch.long)
    cache = DynamicCache(config=config)

    def counted(token_ids: torch.Tensor) -> int:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(token_ids, cache=cache, use_cache=True, logits_to_keep=1)
        return int(counter.get_total_flops())

    prefill = forward_work(spec, num_query_tokens=10, context_len=10, batch_size=batch_size)
    assert counted(prompt) == prefill.flops + batch_size * uncausal_half(spec, 10)
    decode = forward_work(spec, num_query_tokens=1, context_len=11, batch_size=batch_size)
    assert counted(prompt[:, :1]) == decode.flops


def test_flops_are_vllms_estimate_but_for_the_uncausal_half_of_attention() -> None:
    # `/metrics` of vLLM 0.32.0 with --enable-mfu-metrics, a 10-token prompt of this model
    flops = prefill_work(SMOLLM2, 10).flops
    assert flops + uncausal_half(SMOLLM2, 10) == 2_186_901_504
    layers = sum(SMOLLM2.layer_matmul_params)
    attention = 4 * 30 * 9 * 64 * 10 * 10
    assert 2 * layers * 10 + 2 * SMOLLM2.lm_head_params + attention == 2_186_901_504


@pytest.mark.parametrize(("num_query_tokens", "context_len"), [(1, 1), (1, 5000), (700, 700), (16, 3000)])
def test_operators_add_up_to_the_pass(num_query_tokens: int, context_len: int) -> None:
    for model_id, spec in MODELS.items():
        whole = forward_work(spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=3)
        parts = operator_work(spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=3)
        assert list(parts) == ["attention projections", "attention scores and values", "MLP", "LM head"]
        for field in dataclasses.fields(Work):
            total = sum(getattr(part, field.name) for part in parts.values())
            assert getattr(whole, field.name) == total, (model_id, field.name)


def test_prefill_in_chunks_costs_the_same_attention_and_one_lm_head_more() -> None:
    for model_id, spec in MODELS.items():
        if spec.mla is None:
            first = forward_work(spec, num_query_tokens=3000, context_len=3000)
            second = forward_work(spec, num_query_tokens=2000, context_len=5000)
            whole = prefill_work(spec, 5000).flops + 2 * spec.lm_head_params
            assert first.flops + second.flops == whole, model_id


def test_a_decode_step_of_smollm2_in_float32_reads_540_megabytes() -> None:
    spec = dataclasses.replace(SMOLLM2, weight_bits=32, kv_bits=32)
    work = decode_work(spec, 40)
    assert work.weight_bytes == 4 * spec.matmul_params
    assert work.kv_read_bytes == 40 * kv_bytes_per_token(spec)
    assert work.kv_write_bytes == kv_bytes_per_token(spec) == 46_080
    assert round((work.weight_bytes + work.kv_read_bytes) / 1e6) == 540
    assert work.activation_bytes < 0.003 * work.bytes


def test_decode_has_half_a_flop_per_byte_in_float32_and_one_in_sixteen_bits() -> None:
    assert decode_work(dataclasses.replace(SMOLLM2, weight_bits=32, kv_bits=32), 40).intensity == pytest.approx(
        0.5, rel=0.01
    )
    assert decode_work(LLAMA_8B, 40).intensity == pytest.approx(1, rel=0.01)


def test_a_step_of_the_8b_reads_15_gigabytes_of_weights_not_16() -> None:
    work = decode_work(LLAMA_8B, 2048)
    assert round(work.weight_bytes / 1e9, 2) == 15.01
    assert round(LLAMA_8B.weight_bytes / 1e9, 2) == 16.06
    assert kv_bytes_per_token(LLAMA_8B) == 131_072
    assert round(work.kv_read_bytes / 1e9, 2) == 0.27
    assert round(work.bytes / H100_BANDWIDTH * 1e3, 2) == 4.56


def test_2048_prompt_tokens_take_the_8b_thirty_milliseconds_at_peak() -> None:
    work = prefill_work(LLAMA_8B, 2048)
    assert work.flops == pytest.approx(2.97e13, rel=1e-3)
    assert round(work.flops / H100_FLOPS * 1e3) == 30


@pytest.mark.parametrize(("num_tokens", "milliseconds"), [(128, 1.8), (512, 7.3), (32_768, 747), (131_072, 6400)])
def test_prefill_arithmetic_of_the_8b_on_an_h100(num_tokens: int, milliseconds: float) -> None:
    assert prefill_work(LLAMA_8B, num_tokens).flops / H100_FLOPS * 1e3 == pytest.approx(milliseconds, rel=0.02)


def test_attention_flops_match_the_layers_at_53_thousand_tokens() -> None:
    parts = operator_work(LLAMA_8B, num_query_tokens=53_250, context_len=53_250)
    layers = parts["attention projections"].flops + parts["MLP"].flops
    assert parts["attention scores and values"].flops == pytest.approx(layers, rel=1e-3)


def test_a_cached_prefix_saves_95_per_cent_of_prefill() -> None:
    whole = prefill_work(LLAMA_8B, 2100).flops
    rest = forward_work(LLAMA_8B, num_query_tokens=100, context_len=2100).flops
    assert whole == pytest.approx(3.05e13, rel=2e-3)
    assert rest == pytest.approx(1.50e12, rel=4e-3)
    assert round(100 * (1 - rest / whole), 1) == 95.1


@pytest.mark.parametrize(
    ("model_id", "flops_per_byte"), [("llama-2-7b", 1), ("llama-3.1-8b", 4), ("llama-3.1-70b", 8)]
)
def test_decode_attention_has_one_flop_per_byte_and_query_head_of_a_kv_head(
    model_id: str, flops_per_byte: float
) -> None:
    part = operator_work(MODELS[model_id], num_query_tokens=1, context_len=2048)["attention scores and values"]
    assert part.flops / part.kv_read_bytes == flops_per_byte


@pytest.mark.parametrize(("model_id", "flops_per_byte"), [("deepseek-v3", 242), ("deepseek-v2-lite", 30)])
def test_absorbed_mla_decodes_near_the_ridge(model_id: str, flops_per_byte: int) -> None:
    part = operator_work(MODELS[model_id], num_query_tokens=1, context_len=4096)["attention scores and values"]
    assert round(part.flops / part.kv_read_bytes) == flops_per_byte


def test_mla_prefills_with_expanded_heads() -> None:
    spec = MODELS["deepseek-v3"]
    part = operator_work(spec, num_query_tokens=1000, context_len=1000)["attention scores and values"]
    assert part.flops == 2 * (192 + 128) * 128 * 61 * 1000 * 1001 // 2


@pytest.mark.parametrize(
    ("model_id", "context_len", "gigabytes", "if_all_were_full"),
    [
        ("gemma-3-27b", 131_072, 11.2, 66.6),
        ("gpt-oss-20b", 131_072, 3.2, 6.4),
        ("gemma-2-9b", 8_192, 2.1, 2.8),
        ("mistral-7b-v0.1", 32_768, 0.5, 4.3),
        ("deepseek-v3", 131_072, 9.2, 9.2),
        ("llama-3.1-8b", 131_072, 17.2, 17.2),
        ("llama-3.1-70b", 131_072, 42.9, 42.9),
        ("llama-3.1-405b", 131_072, 67.6, 67.6),
    ],
)
def test_a_decode_step_reads_what_its_windows_keep(
    model_id: str, context_len: int, gigabytes: float, if_all_were_full: float
) -> None:
    spec = MODELS[model_id]
    read = decode_work(spec, context_len).kv_read_bytes
    assert read == kv_bytes(spec, context_len=context_len)
    assert round(read / 1e9, 1) == gigabytes
    assert round(context_len * kv_bytes_per_token(spec) / 1e9, 1) == if_all_were_full


def test_mla_keeps_1152_bytes_per_layer_and_token_where_expanded_heads_would_take_71_times_that() -> None:
    spec = MODELS["deepseek-v3"]
    assert kv_bytes_per_token(spec) == 61 * 1152
    expanded = 61 * 128 * (192 + 128) * 2
    assert round(131_072 * expanded / 1e9) == 655


def test_small_mha_can_cache_more_per_token_than_a_large_gqa_model() -> None:
    assert kv_bytes_per_token(MODELS["smollm2-1.7b"]) > kv_bytes_per_token(LLAMA_8B)


@pytest.mark.parametrize(
    ("model_id", "context_len", "sequences"),
    [
        ("llama-2-7b", 4096, 7),
        ("llama-3.1-8b", 32_768, 4),
        ("llama-3.1-8b", 131_072, 1),
        ("mixtral-8x7b", 32_768, 22),
        ("gemma-3-27b", 4096, 70),
        ("gemma-3-27b", 131_072, 5),
        ("deepseek-v3", 131_072, 146),
        ("gpt-oss-20b", 131_072, 13),
    ],
)
def test_the_cache_outweighs_the_weights_from_this_batch_on(
    model_id: str, context_len: int, sequences: int
) -> None:
    spec = MODELS[model_id]
    assert kv_bytes(spec, context_len=context_len, batch_size=sequences) > spec.weight_bytes
    assert kv_bytes(spec, context_len=context_len, batch_size=sequences - 1) <= spec.weight_bytes


def test_a_sliding_prefill_counts_the_pairs_inside_the_window() -> None:
    spec = dataclasses.replace(SMOLLM2, layer_windows=(4,) * 30)
    part = operator_work(spec, num_query_tokens=6, context_len=9)["attention scores and values"]
    pairs = sum(min(position, 4) for position in range(4, 10))
    assert part.flops == 4 * 30 * 9 * 64 * pairs
    keys = 3 + 6  # position 4 looks back at 1, 2 and 3
    assert part.kv_read_bytes == keys * kv_bytes_per_token(spec)


def test_a_batch_shares_the_weight_read_and_never_the_cache_read() -> None:
    one, eight = decode_work(LLAMA_8B, 1000), decode_work(LLAMA_8B, 1000, batch_size=8)
    assert eight.weight_bytes == one.weight_bytes
    assert eight.kv_read_bytes == 8 * one.kv_read_bytes
    assert eight.kv_write_bytes == 8 * one.kv_write_bytes
    assert eight.flops == 8 * one.flops


@pytest.mark.parametrize(("batch_size", "per_cent"), [(1, 6), (16, 64), (64, 98)])
def test_a_batch_wakes_nearly_all_experts(batch_size: int, per_cent: int) -> None:
    spec = MODELS["qwen3-30b-a3b"]
    work = operator_work(spec, num_query_tokens=1, context_len=1, batch_size=batch_size)["MLP"]
    router, experts = 48 * 2048 * 128, 48 * 128 * 3 * 2048 * 768
    assert round(100 * (work.weight_bytes / 2 - router) / experts) == per_cent


def test_one_token_reads_the_weights_it_is_multiplied_with() -> None:
    for spec in MODELS.values():
        assert decode_work(spec, 1).weight_bytes == pytest.approx(2 * spec.matmul_params)


@pytest.mark.parametrize(
    ("inputs", "outputs", "tokens"),
    [(4096, 14_336, 325), (4096, 1024, 462), (8192, 28_672, 310), (896, 4864, 484)],  # 8B, 8B, 70B, Qwen2.5-0.5B
)
def test_activations_put_off_the_ridge_of_one_matmul(inputs: int, outputs: int, tokens: int) -> None:
    # with a KV width of its own, one matmul; the rule for activations is the LM head's
    spec = dataclasses.replace(LLAMA_8B, hidden_size=inputs, vocab_size=outputs, total_params=10**11)
    ridge = 989 / 3.35

    def intensity(num_tokens: int) -> float:
        return operator_work(spec, num_query_tokens=1, context_len=1, batch_size=num_tokens)["LM head"].intensity

    assert intensity(tokens - 1) < ridge < intensity(tokens + 1)


def test_prefill_attention_of_the_8b_reaches_the_ridge_at_738_tokens() -> None:
    part = operator_work(LLAMA_8B, num_query_tokens=738, context_len=738)["attention scores and values"]
    # keys and values once, as a fused kernel reads them; writing them is the projections' output
    assert part.flops / (part.kv_read_bytes + part.activation_bytes) == pytest.approx(295, rel=3e-3)


def test_quantised_weights_keep_sixteen_bit_activations() -> None:
    spec = dataclasses.replace(LLAMA_8B, weight_bits=4, kv_bits=8)
    work, whole = decode_work(spec, 100), decode_work(LLAMA_8B, 100)
    assert work.weight_bytes == whole.weight_bytes / 4
    assert work.kv_read_bytes == whole.kv_read_bytes / 2
    assert work.activation_bytes == whole.activation_bytes


@pytest.mark.parametrize(
    ("num_query_tokens", "context_len", "batch_size", "message"),
    [
        (0, 5, 1, "num_query_tokens=0"),
        (1, 5, 0, "batch_size=0"),
        (6, 5, 1, "after the pass, so at least num_query_tokens=6; got 5"),
    ],
)
def test_a_pass_that_cannot_be_is_refused(
    num_query_tokens: int, context_len: int, batch_size: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        forward_work(SMOLLM2, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size)
