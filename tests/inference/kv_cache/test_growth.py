"""Growth of caches by hand calculation; the published tables are in test_claims."""

from dataclasses import replace

import pytest

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.catalogue import hardware, models
from inference.kv_cache.growth import (
    MOST_TOKENS,
    cache_bytes,
    in_bits,
    longest_within,
    matching_context,
    outweighing_batch,
    room,
)

LLAMA_8B, MISTRAL = models()["llama-3.1-8b"], models()["mistral-7b-v0.1"]
H100 = hardware()["h100-sxm-80gb"]


def slid(*windows: int | None) -> ModelSpec:
    """Layers of 2 x 1 head x 4 values x 2 bytes: 16 bytes a token; 1,000 weights of 16 bits."""
    return replace(
        LLAMA_8B,
        num_layers=len(windows),
        hidden_size=4,
        intermediate_size=4,
        num_query_heads=1,
        num_kv_heads=1,
        head_dim=4,
        vocab_size=4,
        total_params=1000,
        layer_windows=windows,
    )


def test_full_and_sliding_layers_cross_by_the_rule_of_each() -> None:
    # 2,000 bytes of weights. One full layer: 16 S. With a window of 10 beside it: 16 S + 160 beyond 10 tokens.
    assert matching_context(slid(None)) == 125
    assert matching_context(slid(None, 10)) == 115
    assert matching_context(slid(None), batch_size=4) == 31.25
    assert matching_context(slid(10, 10)) is None  # 320 bytes for ever
    assert matching_context(slid(10, 10), batch_size=7) == pytest.approx(2000 / (7 * 32))


def test_equal_is_not_larger() -> None:
    assert outweighing_batch(slid(None), context_len=125) == 2  # one cache is 2,000 bytes, as the weights
    assert outweighing_batch(slid(None), context_len=126) == 1
    assert longest_within(slid(None), 2000) == 125


def test_a_narrower_cache_takes_as_many_times_the_tokens_and_narrower_weights_a_share() -> None:
    whole = matching_context(LLAMA_8B)
    assert whole
    assert matching_context(in_bits(LLAMA_8B, weight_bits=16, kv_bits=4)) == pytest.approx(4 * whole)
    assert matching_context(in_bits(LLAMA_8B, weight_bits=4, kv_bits=16)) == pytest.approx(whole / 4)


def test_what_fits_beside_the_weights() -> None:
    found = room(LLAMA_8B, H100, context_len=8192)
    assert found.free_bytes == 80e9 - 2 * 8_030_261_248
    assert found.conversations == 59
    assert found.longest_context == (80_000_000_000 - 16_060_522_496) // 131_072
    assert room(MISTRAL, H100, context_len=8192).longest_context is None


def test_weights_that_do_not_fit_leave_room_for_nothing() -> None:
    found = room(models()["llama-3.1-70b"], H100, context_len=1)
    assert (found.conversations, found.longest_context) == (0, 0)
    assert found.free_bytes < 0


@pytest.mark.parametrize("context_len", [0, -1, MOST_TOKENS + 1])
def test_a_context_nobody_has_is_refused(context_len: int) -> None:
    with pytest.raises(ValueError, match=f"from 1 to 10,000,000 tokens, got {context_len:,}"):
        cache_bytes(LLAMA_8B, context_len=context_len)
    with pytest.raises(ValueError, match="from 1 to 10,000,000 tokens"):
        outweighing_batch(LLAMA_8B, context_len=context_len)


def test_a_batch_of_nobody_and_no_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 1,000,000 conversations, got 0"):
        matching_context(LLAMA_8B, batch_size=0)
    with pytest.raises(ValueError, match="above 0 bits"):
        in_bits(LLAMA_8B, weight_bits=0, kv_bits=16)


def test_a_machine_without_fixed_memory_is_refused() -> None:
    board = Hardware("board", "Board", None, 1e9, {}, "this test")
    with pytest.raises(ValueError, match="Board has no fixed memory"):
        room(LLAMA_8B, board, context_len=1)
