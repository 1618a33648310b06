"""Every stage of the lab against a second implementation in numpy, and against numbers worked out by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from inference.run.params import SamplingParams
from inference.sampling import stages
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import EXAMPLE_LOGITS, EXAMPLE_PARAMS, StageView
from inference.sampling_lab.views import chain_view, entropy_bits, order_view, worked_example


def next_token(logits: Sequence[float] | np.ndarray, token_ids: tuple[int, ...] = ()) -> NextToken:
    names = {token_id: f"t{token_id}".encode() for token_id in range(len(logits))}
    return NextToken(torch.tensor(np.asarray(logits), dtype=torch.float32), token_ids, names)


def shares(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def in_numpy(logits: np.ndarray, params: SamplingParams, token_ids: Sequence[int]) -> dict[str, np.ndarray]:
    """The chain written again, from the papers' definitions: logits after every stage, -inf where cut."""
    now = logits.astype(np.float64)
    after = {"model": now}

    def bias() -> np.ndarray:
        added = np.zeros_like(now)
        for token_id, value in (params.logit_bias or {}).items():
            added[token_id] = value
        return np.asarray(now + added)

    def penalty() -> np.ndarray:
        seen = np.isin(np.arange(len(now)), token_ids)
        punished = np.where(now > 0, now / params.repetition_penalty, now * params.repetition_penalty)
        return np.where(seen, punished, now)

    def top_k() -> np.ndarray:
        at_least = np.sort(now)[::-1][min(params.top_k, len(now)) - 1] if params.top_k else -np.inf
        return np.where(now >= at_least, now, -np.inf)

    def top_p() -> np.ndarray:
        best_first = np.argsort(-now, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(shares(now)[best_first])[:-1]])  # mass of the better tokens
        kept = np.full(len(now), -np.inf)
        chosen = best_first[before < params.top_p]
        kept[chosen] = now[chosen]
        return kept

    def min_p() -> np.ndarray:
        return np.where(shares(now) >= params.min_p * shares(now).max(), now, -np.inf)

    cuts = {"top-k": top_k, "top-p": top_p, "min-p": min_p}
    heat = {"temperature": lambda: now / params.temperature}
    after_penalty = {**cuts, **heat} if params.temperature_last else {**heat, **cuts}
    for name, step in ({"logit bias": bias, "repetition penalty": penalty} | after_penalty).items():
        now = step()
        after[name] = now
    return after


COMBINATIONS = [
    SamplingParams(1.0),
    SamplingParams(0.7, top_p=0.9),
    SamplingParams(0.7, top_k=50, top_p=0.9, temperature_last=True),
    SamplingParams(1.8, top_k=400, min_p=0.02),
    SamplingParams(1.8, top_p=0.8, min_p=0.05, temperature_last=True),
    SamplingParams(0.4, 40, 0.95, 0.01, 1.3, {3: 6.0, 900: -4.0}),
    SamplingParams(2.5, 700, 0.6, 0.001, 0.7, {11: 9.0}, temperature_last=True),
]


@pytest.mark.parametrize("params", COMBINATIONS, ids=lambda params: params.spelled())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_stage_agrees_with_a_second_implementation(params: SamplingParams, seed: int) -> None:
    logits = np.random.default_rng(seed).normal(0, 3, 2_000).astype(np.float32)
    seen = (3, 11, 500, 500, 1_999)
    model = shares(logits.astype(np.float64))
    again = in_numpy(logits, params, seen)
    view = chain_view(next_token(logits, seen), params)
    assert [stage.name for stage in view.stages] == list(again)
    for stage in view.stages:
        expected = shares(again[stage.name])
        kept = np.isfinite(again[stage.name])
        assert stage.num_kept == kept.sum()
        assert stage.kept_mass == pytest.approx(model[kept].sum(), rel=1e-5)
        assert stage.entropy_bits == pytest.approx(-(expected[kept] * np.log2(expected[kept])).sum(), abs=1e-4)
        best_first = np.argsort(-model, kind="stable")
        at_ranks = expected[best_first][np.array(view.ranks) - 1]
        np.testing.assert_allclose(stage.curve, at_ranks, rtol=1e-4, atol=1e-12)
        for share in stage.top:
            assert share.probability == pytest.approx(expected[share.token_id], rel=1e-4, abs=1e-12)
            assert share.model == pytest.approx(model[share.token_id], rel=1e-5)
            assert share.rank == 1 + (model > model[share.token_id]).sum()
        most = np.sort(expected)[::-1][: len(stage.top)]
        np.testing.assert_allclose([share.probability for share in stage.top], most, rtol=1e-4, atol=1e-12)


def test_eight_equal_tokens_are_three_bits_and_one_token_none() -> None:
    assert entropy_bits(torch.full((8,), 1 / 8)) == pytest.approx(3, abs=1e-12)
    assert chain_view(next_token([0.0] * 8), SamplingParams(1.0)).last.entropy_bits == pytest.approx(3)
    assert entropy_bits(torch.tensor([1.0, 0.0, 0.0])) == 0


HALVES = [math.log(share) for share in (1 / 2, 1 / 4, 1 / 8, 1 / 8)]


def test_kept_mass_is_the_models_own_however_the_stages_before_have_changed_it() -> None:
    """Of 1/2, 1/4, 1/8, 1/8, top-k 2 keeps three quarters; a temperature of 0.5 does not make that more."""
    for params in (
        SamplingParams(1.0, top_k=2),
        SamplingParams(0.5, top_k=2),
        SamplingParams(0.5, top_k=2, top_p=1),
    ):
        last = chain_view(next_token(HALVES), params).last
        assert (last.num_kept, last.kept_mass) == pytest.approx((2, 0.75))
    bits = chain_view(next_token(HALVES), SamplingParams(1.0)).stages[0].entropy_bits
    assert bits == pytest.approx(1.75)  # 1/2 * 1 + 1/4 * 2 + 2 * 1/8 * 3


def test_a_stage_that_is_off_says_so_and_repeats_the_numbers_before_it() -> None:
    view = chain_view(next_token(HALVES), SamplingParams(0.5, top_p=0.9))
    assert [stage.name for stage in view.stages if stage.is_on] == ["model", "temperature", "top-p"]
    assert view.stage("top-k").num_kept == view.stage("temperature").num_kept
    assert view.stage("min-p").curve == view.stage("top-p").curve


def test_the_lab_shows_the_stages_that_a_run_goes_through() -> None:
    for params in COMBINATIONS:
        run = stages(torch.tensor(np.linspace(0, 5, 1_000)), params, [1])
        view = chain_view(next_token(np.linspace(0, 5, 1_000), (1,)), params)
        assert [stage.name for stage in run] == [stage.name for stage in view.stages if stage.is_on]
        assert run[-1].num_kept == view.last.num_kept


def test_greedy_is_temperature_zero_and_keeps_the_best_of_what_bias_and_penalty_leave() -> None:
    view = chain_view(next_token([3.0, 2.0, 1.0], (0,)), SamplingParams(repetition_penalty=2.0))
    assert (view.last.num_kept, view.last.entropy_bits, view.drawn.token_id) == (1, 0, 1)
    assert view.last.kept_mass == pytest.approx(math.exp(2) / (math.exp(3) + math.exp(2) + math.exp(1)))


def test_a_bias_of_plus_100_makes_a_token_certain_and_minus_100_removes_it() -> None:
    logits = np.random.default_rng(4).normal(0, 3, 5_000)
    best, worst = int(logits.argmax()), int(logits.argmin())
    raised = chain_view(next_token(logits), SamplingParams(1.0, logit_bias={worst: 100.0}))
    assert (raised.last.top[0].token_id, raised.last.top[0].rank) == (worst, 5_000)
    assert raised.last.top[0].probability == pytest.approx(1)
    assert raised.drawn.token_id == worst
    assert 5_000 in raised.ranks, "a raised token is on the curve however far down it was"
    lowered = chain_view(next_token(logits), SamplingParams(1.0, logit_bias={best: -100.0}))
    assert lowered.last.curve[0] < 1e-40
    assert best not in [share.token_id for share in lowered.last.top]


def test_a_bias_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="the vocabulary ends at 3"):
        chain_view(next_token(HALVES), SamplingParams(1.0, logit_bias={4: 1.0}))


def test_ten_renormalised_tokens_claim_more_than_the_model_gives_them() -> None:
    """Twenty equal tokens: one in twenty each; a chart of ten that sums to 1 says one in ten."""
    view = chain_view(next_token([0.0] * 20), SamplingParams(1.0))
    claimed: StageView = view.top_ten
    assert (claimed.num_kept, claimed.kept_mass) == pytest.approx((10, 0.5))
    for share in claimed.top:
        assert (share.model, share.probability) == pytest.approx((0.05, 0.1))


def test_the_curve_has_every_good_rank_and_both_sides_of_each_cut_of_a_full_vocabulary() -> None:
    logits = np.random.default_rng(0).normal(0, 2, 49_152)
    view = chain_view(next_token(logits), SamplingParams(1.0, top_k=1_234, top_p=0.5))
    assert set(range(1, 21)) <= set(view.ranks)
    cut = view.last.num_kept
    assert {1_234, 1_235, cut, cut + 1, 49_152} <= set(view.ranks)
    at = dict(zip(view.ranks, view.last.curve, strict=True))
    assert at[cut] > 0 == at[cut + 1]
    assert len(view.ranks) < 320


def test_the_drawn_token_is_the_one_a_run_with_this_seed_draws_at_this_step() -> None:
    from inference.sampling import sample, step_rng  # noqa: PLC0415

    logits, params = torch.randn(1_000), SamplingParams(1.0, seed=8)
    for index in range(5):
        found = NextToken(logits, (), next_token(logits.tolist()).vocabulary, index)
        assert chain_view(found, params).drawn.token_id == sample(logits, params, step_rng(8, index))


def test_the_worked_example_keeps_one_token_in_one_order_and_two_in_the_other() -> None:
    """Logits 3, 2, 1 at T 0.5 are 6, 4, 2: A alone has 0.867 of the mass. Without it 0.665, short of 0.8."""
    assert (EXAMPLE_LOGITS, EXAMPLE_PARAMS.temperature, EXAMPLE_PARAMS.top_p) == ((3.0, 2.0, 1.0), 0.5, 0.8)
    view = worked_example()
    assert (view.first.last.num_kept, view.last.last.num_kept) == (1, 2)
    assert (view.num_only_first, view.num_only_last) == (0, 1)
    assert [share.raw for share in view.only_last] == [b"B"]
    seen_first = view.first.stage("temperature").top[0].probability
    assert seen_first == pytest.approx(1 / (1 + math.exp(-2) + math.exp(-4)))
    assert view.last.last.top[0].probability == pytest.approx(1 / (1 + math.exp(-2)))


def test_the_orders_are_compared_token_by_token() -> None:
    """Sharpened first, top-p 0.75 of 1/2, 1/4, 1/8, 1/8 keeps {0, 1}: 16/22 is short of it. Last, {0, 1} too."""
    same = order_view(next_token(HALVES), SamplingParams(0.5, top_p=0.749))
    assert (same.num_only_first, same.num_only_last) == (0, 0)
    flat = order_view(next_token(HALVES), SamplingParams(5.0, top_p=0.749))
    assert (flat.num_only_first, flat.num_only_last) == (1, 0)
    assert flat.only_first[0].model == pytest.approx(1 / 8)


@pytest.mark.parametrize("params", [SamplingParams(1.0, top_p=0.7), SamplingParams(0.3, top_k=2), SamplingParams()])
def test_without_a_temperature_or_with_top_k_alone_the_order_changes_no_set(params: SamplingParams) -> None:
    view = order_view(next_token(HALVES, (0,)), params)
    assert (view.num_only_first, view.num_only_last, view.only_first, view.only_last) == (0, 0, (), ())
