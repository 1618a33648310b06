"""Score matrices against published sizes and hand calculation."""

from dataclasses import replace

import pytest

from inference.catalogue import models
from inference.kv_cache.scores import Scores, outgrown_from

LLAMA_2 = models()["llama-2-7b"]
MIB, GIB = 1024**2, 1024**3


def test_4096_tokens_make_a_matrix_of_32_mebibytes_and_a_row_of_eight_kibibytes() -> None:
    scores = Scores(LLAMA_2, 4096)
    assert scores.matrix_bytes == 33_554_432 == 32 * MIB
    assert scores.row_bytes == 8 * 1024


def test_all_heads_and_layers_of_llama_2_7b_would_take_32_gibibytes_and_its_cache_takes_two() -> None:
    scores = Scores(LLAMA_2, 4096)
    assert scores.stored_bytes == 32 * GIB
    assert scores.kv_bytes == 2 * GIB


def test_one_matrix_of_128k_is_32_gibibytes() -> None:
    assert Scores(models()["llama-3.1-8b"], 131_072).matrix_bytes == 32 * GIB


def test_what_is_above_the_diagonal_is_masked() -> None:
    assert Scores(LLAMA_2, 4).masked_share == 6 / 16
    assert Scores(LLAMA_2, 1).masked_share == 0
    assert Scores(LLAMA_2, 4096).masked_share == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize(
    ("model_id", "equal_at"),
    [
        ("llama-2-7b", 256),  # 2 x 128 values a token and head against n scores
        ("llama-3.1-8b", 64),  # a quarter of the KV heads
        ("gpt-oss-20b", 16),
        ("deepseek-v3", 4.5),  # 576 values for 128 heads
    ],
)
def test_scores_outgrow_the_cache_where_a_row_is_as_long_as_the_values_a_head_keeps(
    model_id: str, equal_at: float
) -> None:
    spec = models()[model_id]
    found = outgrown_from(spec)
    assert found == int(equal_at) + 1
    assert Scores(spec, found).stored_bytes > Scores(spec, found).kv_bytes
    assert Scores(spec, found - 1).stored_bytes <= Scores(spec, found - 1).kv_bytes


def test_a_narrower_cache_is_outgrown_earlier_and_narrower_scores_outgrow_later() -> None:
    assert outgrown_from(replace(LLAMA_2, kv_bits=4)) == 65
    assert outgrown_from(LLAMA_2, bits=8) == 513


def test_a_window_bounds_the_cache_and_the_crossing_is_still_found() -> None:
    # 32 x 2 x 32 x 128 x 2 x 100 bytes for ever, against 2,048 n^2: n^2 > 25,600
    short = replace(LLAMA_2, layer_windows=(100,) * 32)
    assert outgrown_from(short) == 161


@pytest.mark.parametrize("num_tokens", [0, -5, 10_000_001])
def test_a_length_nobody_has_is_refused(num_tokens: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 10,000,000 tokens"):
        Scores(LLAMA_2, num_tokens)


def test_scores_without_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 0 bits"):
        Scores(LLAMA_2, 16, bits=0)
