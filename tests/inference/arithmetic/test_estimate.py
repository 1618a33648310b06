"""The estimate of one pass: its three parts by hand, and where it says what it does not know."""

from dataclasses import replace

import pytest

from inference.arithmetic.estimate import estimate, prefill_terms, seconds_per_weight
from inference.arithmetic.roofline import Ceilings
from inference.catalogue import models

CEILINGS = Ceilings(
    device="test",
    dtype="float32",
    bandwidth=10e9,
    flops=100e9,
    overhead_s=0.010,
    measured_on="2026-11-30",
    threads=2,
    matmul_ladder=((1, 1e-10), (4, 4e-10), (16, 4e-10), (64, 16e-10)),
    attention_flops=50e9,
    elementwise_s=1e-9,
)
SPEC = replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)
LAYER_WEIGHTS = 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536)
HEAD_WEIGHTS = 49_152 * 576


@pytest.mark.parametrize(
    ("num_tokens", "expected"),
    [
        (1, 1e-10),
        (2, 2e-10),  # half way from 1 to 4 in logarithms is half way from 1e-10 to 4e-10
        (4, 4e-10),
        (8, 4e-10),
        (64, 16e-10),
        (256, 64e-10),  # beyond the last one the time grows as the tokens do
    ],
)
def test_seconds_per_weight_lie_between_the_measured_ones(num_tokens: int, expected: float) -> None:
    assert seconds_per_weight(CEILINGS, num_tokens) == pytest.approx(expected)


def test_a_decode_step_is_overhead_plus_every_weight_plus_moving_the_cache() -> None:
    found = estimate(SPEC, CEILINGS, num_query_tokens=1, context_len=1000)
    cache_bytes = 1000 * 2 * 30 * 3 * 64 * 4
    scores_and_values = 4 * 30 * 9 * 64 * 1000
    assert found.overhead_s == 0.010
    assert found.matmul_s == pytest.approx((LAYER_WEIGHTS + HEAD_WEIGHTS) * 1e-10)
    assert found.attention_s == pytest.approx(3 * cache_bytes / 10e9 + scores_and_values / 50e9)
    assert found.elementwise_s == pytest.approx(30 * 576 * 1e-9)
    parts = found.overhead_s + found.matmul_s + found.attention_s + found.elementwise_s
    assert found.total_s == pytest.approx(parts)


def test_a_prefill_multiplies_the_lm_head_once_and_sees_causal_pairs_only() -> None:
    found = estimate(SPEC, CEILINGS, num_query_tokens=64, context_len=64)
    pairs = 64 * 65 / 2
    written = 64 * 2 * 30 * 3 * 64 * 4
    assert found.matmul_s == pytest.approx(LAYER_WEIGHTS * 16e-10 + HEAD_WEIGHTS * 1e-10)
    assert found.attention_s == pytest.approx(4 * 30 * 9 * 64 * pairs / 50e9 + written / 10e9)
    assert found.elementwise_s == pytest.approx(64 * 30 * 576 * 1e-9)


def test_a_batch_multiplies_the_lm_head_for_each_sequence() -> None:
    found = estimate(SPEC, CEILINGS, num_query_tokens=1, context_len=10, batch_size=16)
    assert found.matmul_s == pytest.approx((LAYER_WEIGHTS + HEAD_WEIGHTS) * 4e-10)


def test_without_a_ladder_each_matrix_group_takes_the_longer_of_its_two_roofs() -> None:
    bare = replace(CEILINGS, matmul_ladder=(), attention_flops=0.0)
    found = estimate(SPEC, bare, num_query_tokens=1, context_len=1)
    assert found.matmul_s == pytest.approx((LAYER_WEIGHTS + HEAD_WEIGHTS) * 4 / 10e9)
    long = estimate(SPEC, bare, num_query_tokens=1000, context_len=1000)
    assert long.matmul_s == pytest.approx(2 * 1000 * LAYER_WEIGHTS / 100e9 + HEAD_WEIGHTS * 4 / 10e9)


def test_the_three_terms_of_a_prefill_add_up_to_its_estimate() -> None:
    whole = estimate(SPEC, CEILINGS, num_query_tokens=64, context_len=64)
    terms = prefill_terms(SPEC, CEILINGS, 64)
    assert terms.floor_s == pytest.approx(0.010 + (LAYER_WEIGHTS + HEAD_WEIGHTS) * 1e-10 + 30 * 576 * 1e-9)
    assert terms.linear_s == pytest.approx(LAYER_WEIGHTS * 15e-10 + 63 * 30 * 576 * 1e-9)
    assert terms.floor_s + terms.linear_s + terms.quadratic_s == pytest.approx(whole.total_s)


def test_attention_is_the_term_that_grows_four_times_when_the_prompt_doubles() -> None:
    short, long = prefill_terms(SPEC, CEILINGS, 4096), prefill_terms(SPEC, CEILINGS, 8192)
    assert long.floor_s == short.floor_s
    assert long.linear_s / short.linear_s == pytest.approx(2, rel=0.01)
    assert long.quadratic_s / short.quadratic_s == pytest.approx(4, rel=0.02)


def test_no_term_of_a_prefill_is_below_zero_where_one_token_was_measured_slower_than_many() -> None:
    noisy = replace(CEILINGS, matmul_ladder=((1, 4e-10), (16, 2e-10), (64, 3e-10)))
    for num_tokens in (1, 2, 16, 64, 256):
        terms = prefill_terms(SPEC, noisy, num_tokens)
        assert min(terms.floor_s, terms.linear_s, terms.quadratic_s) >= 0
        whole = estimate(SPEC, noisy, num_query_tokens=num_tokens, context_len=num_tokens).total_s
        assert terms.floor_s + terms.linear_s + terms.quadratic_s == pytest.approx(whole)
    assert prefill_terms(SPEC, noisy, 16).linear_s == 0
