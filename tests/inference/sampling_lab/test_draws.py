"""A thousand draws against the distribution they come from; the test statistic against published values."""

import numpy as np
import pytest
import torch

from inference.run.params import SamplingParams
from inference.sampling_lab.draws import chi_square, draw_many
from inference.sampling_lab.next_token import NextToken

LOGITS = torch.tensor(np.random.default_rng(3).normal(0, 2, 5_000), dtype=torch.float32)
FOUND = NextToken(LOGITS, (), {token_id: str(token_id).encode() for token_id in range(5_000)})
SETTINGS = [SamplingParams(1.0), SamplingParams(0.7, top_k=50, top_p=0.9), SamplingParams(1.5, min_p=0.05)]


def test_chi_square_is_scipys_own_example() -> None:
    """scipy.stats.chisquare([16, 18, 16, 14, 12, 12]): statistic 2.0, p-value 0.84914503608460956."""
    found = chi_square([16, 18, 16, 14, 12, 12], [88 / 6] * 6)
    assert found is not None
    assert (found.statistic, found.degrees) == pytest.approx((2.0, 5))
    assert found.p == pytest.approx(0.84914503608460956, rel=1e-12)


@pytest.mark.parametrize(("degrees", "critical"), [(1, 3.841), (5, 11.070), (9, 16.919), (30, 43.773)])
def test_the_published_critical_values_have_a_p_of_five_per_cent(degrees: int, critical: float) -> None:
    """NIST/SEMATECH e-Handbook, 1.3.6.7.4: upper 0.05 points. The counts below miss by exactly that much."""
    expected = [1e6] * (degrees + 1)
    miss = (critical * 1e6 / 2) ** 0.5
    counts = [1e6 + miss, 1e6 - miss, *expected[2:]]
    found = chi_square(counts, expected)
    assert found is not None
    assert found.statistic == pytest.approx(critical)
    assert found.p == pytest.approx(0.05, abs=2e-5)


@pytest.mark.parametrize("params", SETTINGS, ids=lambda params: params.spelled())
def test_honest_draws_fail_as_often_as_the_p_value_says(params: SamplingParams) -> None:
    """Over 40 seeds p is spread evenly from 0 to 1: a mean far from a half is a sampler or a test that is wrong."""
    tests = []
    for seed in range(40):
        test = draw_many(
            FOUND, SamplingParams(params.temperature, params.top_k, params.top_p, params.min_p, seed=seed), 1_000
        ).test
        assert test is not None
        tests.append(test.p)
    assert sum(tests) / 40 == pytest.approx(0.5, abs=5 * (1 / 12 / 40) ** 0.5)
    assert min(tests) > 1e-4


def test_draws_with_cuts_are_not_the_models_own_distribution_and_the_test_says_so() -> None:
    sharp = SamplingParams(0.7, top_k=50)
    honest, against_model = draw_many(FOUND, sharp, 1_000), draw_many(FOUND, sharp, 1_000, is_against_model=True)
    assert honest.test
    assert against_model.test
    assert honest.test.p > 1e-3
    assert against_model.test.p < 1e-50


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    first, again = (draw_many(FOUND, SamplingParams(1.0, seed=5), 1_000) for _ in range(2))
    assert first == again
    assert draw_many(FOUND, SamplingParams(1.0, seed=6), 1_000) != first


@pytest.mark.parametrize("num_draws", [100, 1_000, 10_000])
@pytest.mark.parametrize("params", SETTINGS, ids=lambda params: params.spelled())
def test_counts_and_expected_sum_to_the_draws_and_no_bin_is_too_small(
    params: SamplingParams, num_draws: int
) -> None:
    draws = draw_many(FOUND, params, num_draws)
    assert sum(one.count for one in draws.bins) == num_draws
    assert sum(one.expected for one in draws.bins) == pytest.approx(num_draws)
    assert all(one.expected >= 5 for one in draws.bins)
    alone = [one.expected for one in draws.bins if one.raw is not None]
    assert alone == sorted(alone, reverse=True)


def test_a_cut_token_is_never_drawn_and_has_no_bin() -> None:
    draws = draw_many(FOUND, SamplingParams(1.0, top_k=3), 1_000)
    best = [str(token_id).encode() for token_id in LOGITS.topk(3).indices.tolist()]
    assert [one.raw for one in draws.bins] == best
    assert sum(one.num_tokens for one in draws.bins) == 3


def test_greedy_gives_one_token_every_time_and_nothing_to_test() -> None:
    draws = draw_many(FOUND, SamplingParams(), 1_000)
    assert [(one.raw, one.count) for one in draws.bins] == [(str(int(LOGITS.argmax())).encode(), 1_000)]
    assert draws.test is None


def test_a_bias_of_100_is_drawn_a_thousand_times() -> None:
    draws = draw_many(FOUND, SamplingParams(1.0, logit_bias={17: 100.0}), 1_000)
    assert (draws.bins[0].raw, draws.bins[0].count) == (b"17", 1_000)
    assert draws.test is None
