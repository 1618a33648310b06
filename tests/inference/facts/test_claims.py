"""The published tables on cache growth, reads per step, ridge points and attention intensity, cell by cell.

Numbers are roofline arithmetic on published shapes with 16-bit weights and cache, worked out apart from this
program. "4K" is 4,096 tokens.
"""

from dataclasses import replace

import pytest

from inference.arithmetic.hardware import ridge_point
from inference.catalogue import hardware, models
from inference.cost import forward_work, kv_bytes_per_token, operator_work
from inference.kv_cache.formulas import by_query_heads
from inference.kv_cache.growth import cache_bytes, in_bits, matching_context, outweighing_batch, room

MODELS, HARDWARE = models(), hardware()
K = 1024
LENGTHS = (4 * K, 8 * K, 32 * K, 64 * K, 128 * K)

# Weights in GB; tokens to match; smallest batch that outweighs them at each of LENGTHS, None beyond the model's
# own context; the same at 128K, or the most the model has, with 4-bit weights.
Row = tuple[float, float, tuple[int | None, ...], tuple[int, int]]
OUTWEIGHING: dict[str, Row] = {
    "llama-2-7b": (13.5, 25_705, (7, None, None, None, None), (4 * K, 2)),
    "llama-3.2-1b": (2.5, 75_428, (19, 10, 3, 2, 1), (128 * K, 1)),
    "llama-3.1-8b": (16.1, 122_532, (30, 15, 4, 2, 1), (32 * K, 1)),
    "llama-3.1-70b": (141, 430_626, (106, 53, 14, 7, 4), (128 * K, 1)),
    "llama-3.1-405b": (812, 1_572_783, (384, 192, 48, 24, 12), (128 * K, 3)),
    "qwen2.5-7b": (15.2, 265_612, (65, 33, 9, 5, 3), (128 * K, 1)),
    "qwen3-8b": (16.4, 111_094, (28, 14, 4, None, None), (32 * K, 1)),
    "mixtral-8x7b": (93, 712_628, (174, 87, 22, None, None), (32 * K, 6)),
    "gemma-3-27b": (54, 654_083, (70, 49, 18, 10, 5), (128 * K, 2)),
    "deepseek-v3": (1342, 19.1e6, (4_663, 2_332, 583, 292, 146), (128 * K, 37)),
    "gpt-oss-20b": (41.8, 1.70e6, (403, 205, 52, 26, 13), (128 * K, 4)),
}


@pytest.mark.parametrize("model_id", OUTWEIGHING)
def test_the_smallest_batch_that_outweighs_the_weights(model_id: str) -> None:
    spec = MODELS[model_id]
    weights_gb, tokens, batches, (context_len, with_four_bits) = OUTWEIGHING[model_id]
    assert spec.weight_bytes / 1e9 == pytest.approx(weights_gb, abs=0.05 if weights_gb < 50 else 0.5)
    matching = matching_context(spec)
    assert matching
    assert matching == pytest.approx(tokens, abs=0.5 if tokens < 1.6e6 else 0.005 * tokens)
    found = [
        outweighing_batch(spec, context_len=length) if length <= spec.max_context else None for length in LENGTHS
    ]
    assert found == list(batches)
    four_bits = in_bits(spec, weight_bits=4, kv_bits=16)
    assert outweighing_batch(four_bits, context_len=context_len) == with_four_bits


@pytest.mark.parametrize("model_id", OUTWEIGHING)
def test_one_conversation_fewer_does_not_outweigh_them(model_id: str) -> None:
    spec = MODELS[model_id]
    for context_len in LENGTHS:
        batch = outweighing_batch(spec, context_len=context_len)
        assert cache_bytes(spec, context_len=context_len, batch_size=batch) > spec.weight_bytes, context_len
        assert (batch - 1) * cache_bytes(spec, context_len=context_len) <= spec.weight_bytes, context_len


def test_native_fp8_halves_the_batches_of_deepseek_v3() -> None:
    fp8 = in_bits(MODELS["deepseek-v3"], weight_bits=8, kv_bits=16)
    assert [outweighing_batch(fp8, context_len=length) for length in LENGTHS] == [2_332, 1_166, 292, 146, 73]


def test_the_real_checkpoint_of_gpt_oss_20b_is_outweighed_by_five() -> None:
    spec = MODELS["gpt-oss-20b"]
    mxfp4 = replace(spec, weight_bits=13.76e9 * 8 / spec.total_params)
    assert outweighing_batch(mxfp4, context_len=128 * K) == 5


@pytest.mark.parametrize(
    ("model_id", "gigabytes"),
    [
        ("llama-3.1-8b", 17.2),
        ("llama-3.1-70b", 42.9),
        ("llama-3.1-405b", 67.6),  # 67.646; sometimes printed as 67.7, rounded twice
        ("gemma-3-27b", 11.2),
        ("deepseek-v3", 9.2),
        ("gpt-oss-20b", 3.2),
    ],
)
def test_one_conversation_of_128k(model_id: str, gigabytes: float) -> None:
    assert round(cache_bytes(MODELS[model_id], context_len=128 * K) / 1e9, 1) == gigabytes


def test_a_small_model_without_groups_caches_more_per_token_than_a_large_one_with() -> None:
    assert kv_bytes_per_token(MODELS["smollm2-1.7b"]) == 192 * K
    assert kv_bytes_per_token(MODELS["llama-3.1-8b"]) == 128 * K


# GB read per decode step; GB if every layer were full, or if MLA kept its heads expanded.
@pytest.mark.parametrize(
    ("model_id", "context_len", "read_gb", "otherwise_gb"),
    [
        ("gemma-3-27b", 131_072, 11.2, 66.6),
        ("gpt-oss-20b", 131_072, 3.2, 6.4),
        ("gemma-2-9b", 8_192, 2.1, 2.8),
        ("mistral-7b-v0.1", 32_768, 0.54, 4.3),
        ("deepseek-v3", 131_072, 9.2, 655),
    ],
)
def test_bytes_of_the_cache_read_per_step(
    model_id: str, context_len: int, read_gb: float, otherwise_gb: float
) -> None:
    spec = MODELS[model_id]
    read = forward_work(spec, num_query_tokens=1, context_len=context_len).kv_read_bytes
    assert read == cache_bytes(spec, context_len=context_len)
    assert read / 1e9 == pytest.approx(read_gb, abs=0.005 if read_gb < 1 else 0.05)
    times = by_query_heads(spec).times_right if spec.mla else 1
    otherwise = context_len * kv_bytes_per_token(spec) * times
    assert otherwise / 1e9 == pytest.approx(otherwise_gb, abs=0.5 if otherwise_gb > 100 else 0.05)


def test_a_window_makes_the_read_constant_and_mla_keeps_1152_bytes_per_layer_and_token() -> None:
    mistral, deepseek = MODELS["mistral-7b-v0.1"], MODELS["deepseek-v3"]
    assert cache_bytes(mistral, context_len=4096) == cache_bytes(mistral, context_len=32_768)
    assert kv_bytes_per_token(deepseek) == 61 * 1152


@pytest.mark.parametrize(
    ("machine", "flops_per_byte"),
    [
        *(("rtx-3090", 76), ("a10g", 117), ("rtx-5090", 117), ("v100-sxm2-32gb", 139), ("a100-sxm4-80gb", 153)),
        *(("a100-pcie-80gb", 161), ("rtx-4090", 164), ("tpu-v5p", 166), ("a100-sxm4-40gb", 201), ("t4", 203)),
        *(("h200-sxm-141gb", 206), ("a10", 208), ("mi325x", 218), ("tpu-v5e", 241), ("mi300x", 247)),
        *(("b200-sxm", 292), ("h100-sxm-80gb", 295), ("gb200-per-gpu", 313), ("h100-pcie-80gb", 378)),
        *(("l4", 403), ("l40s", 419), ("tpu-v6e", 560)),
    ],
)
def test_ridge_points_at_16_bits(machine: str, flops_per_byte: int) -> None:
    found = HARDWARE[machine]
    dtype = "float16" if "float16" in found.peak_flops else "bfloat16"
    assert ridge_point(found, dtype) == pytest.approx(flops_per_byte, abs=0.5)


@pytest.mark.parametrize(
    ("model_id", "flops_per_byte"),
    [
        ("llama-2-7b", 1),
        ("llama-3.1-8b", 4),
        ("llama-3.1-70b", 8),
        ("llama-3.1-405b", 16),
        ("deepseek-v3", 242),
        ("deepseek-v2-lite", 30),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 64])
def test_decode_attention_reads_by_kv_head_and_computes_by_query_head(
    model_id: str, flops_per_byte: int, batch_size: int
) -> None:
    parts = operator_work(MODELS[model_id], num_query_tokens=1, context_len=8192, batch_size=batch_size)
    attention = parts["attention scores and values"]
    assert round(attention.flops / attention.kv_read_bytes) == flops_per_byte


def test_conversations_beside_the_8b_on_an_h100() -> None:
    llama, h100 = MODELS["llama-3.1-8b"], HARDWARE["h100-sxm-80gb"]
    assert room(llama, h100, context_len=8_192).conversations == 59
    # 295 sequences fit up to 1,653.6 tokens each
    assert room(llama, h100, context_len=1_653).conversations == 295
    assert room(llama, h100, context_len=1_654).conversations == 294
