"""The right formula of the KV cache and the two usual wrong ones, against hand calculations."""

import dataclasses

import pytest

from inference.catalogue import models
from inference.cost import kv_bytes_per_token
from inference.kv_cache.formulas import (
    by_hidden_width,
    by_query_heads,
    cache_bytes,
    formulas,
    right_formula,
    window_factor,
)

MODELS = models()


@pytest.mark.parametrize(
    ("model", "right", "heads", "hidden"),
    [
        # 2 x 32 layers x 8 KV heads x 128 x 2 B; 32 query heads; hidden 4096 = 32 x 128
        ("llama-3.1-8b", 131_072, 4, 4),
        # 2 x 30 x 3 x 64 x 2 B; 9 query heads; hidden 576 = 9 x 64
        ("smollm2-135m", 23_040, 3, 3),
        # MHA: 2 x 32 x 32 x 128 x 2 B, and every formula is right
        ("llama-2-7b", 524_288, 1, 1),
        # MQA: 2 x 18 x 1 x 256 x 2 B; 4 query heads of 256; hidden 640, which is 2.5 keys wide
        ("gemma-3-270m", 18_432, 4, 2.5),
        # hidden 1024 is 8 KV heads x 128 by accident, while the 16 query heads are 2048 wide
        ("qwen3-0.6b", 114_688, 2, 1),
        # MLA: 61 x (512 + 64) x 2 B; 128 heads x (192 key + 128 value) = 40,960; 2 x hidden 7168 = 14,336
        ("deepseek-v3", 70_272, 40_960 / 576, 14_336 / 576),
        # MLA without query compression: 27 x 576 x 2 B; 16 x (192 + 128) = 5,120; 2 x 2048
        ("deepseek-v2-lite", 31_104, 5_120 / 576, 4_096 / 576),
    ],
)
def test_each_formula_gives_what_a_hand_calculation_does(
    model: str, right: float, heads: float, hidden: float
) -> None:
    spec = MODELS[model]
    assert right_formula(spec).bytes_per_token == right
    assert by_query_heads(spec).times_right == pytest.approx(heads)
    assert by_hidden_width(spec).times_right == pytest.approx(hidden)


def test_mla_with_its_heads_expanded_is_the_published_655_gb() -> None:
    # The catalogue's source: 131,072 tokens, heads expanded; 9.2 GB as it is
    spec = MODELS["deepseek-v3"]
    right, heads, _ = formulas(spec)
    assert cache_bytes(spec, heads, context_len=131_072) == pytest.approx(655e9, rel=1e-3)
    assert cache_bytes(spec, right, context_len=131_072) == pytest.approx(9.2e9, rel=2e-3)


def test_the_right_formula_is_the_one_every_other_number_here_uses() -> None:
    for model, spec in MODELS.items():
        right, heads, hidden = formulas(spec)
        assert right.bytes_per_token == kv_bytes_per_token(spec), model
        assert right.times_right == 1, model
        for wrong in (heads, hidden):
            assert wrong.bytes_per_token / right.bytes_per_token == pytest.approx(wrong.times_right), model


def test_a_formula_is_written_with_the_numbers_that_are_multiplied() -> None:
    right, heads, hidden = formulas(MODELS["smollm2-135m"])
    assert right.written == "2 (key, value) × 3 KV heads × 64 values × 30 layers × 2 bytes"
    assert heads.written == "2 (key, value) × 9 query heads × 64 values × 30 layers × 2 bytes"
    assert hidden.written == "2 (key, value) × 576 hidden width × 30 layers × 2 bytes"
    four_bits = dataclasses.replace(MODELS["deepseek-v3"], kv_bits=4)
    assert right_formula(four_bits).written == "576 values (512 latent, 64 rotary key) × 61 layers × 0.5 bytes"


def test_sliding_layers_keep_their_window_under_every_formula() -> None:
    # gpt-oss-20b: 12 full layers and 12 with a window of 128; 8 KV heads of 64, 64 query heads, 2 bytes
    spec = MODELS["gpt-oss-20b"]
    kept = 12 * 131_072 + 12 * 128
    right, heads, _ = formulas(spec)
    assert cache_bytes(spec, right, context_len=131_072) == kept * 2 * 8 * 64 * 2
    assert cache_bytes(spec, heads, context_len=131_072) == kept * 2 * 64 * 64 * 2
    assert window_factor(spec, context_len=131_072) == pytest.approx(24 * 131_072 / kept)
    assert window_factor(spec, context_len=128) == 1
