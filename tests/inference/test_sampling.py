"""Every stage of the chain against numpy and against hand calculation."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import Tensor

from inference.run.params import SamplingParams
from inference.sampling import Stage, draw, sample, stages, step_rng

WORKED = torch.tensor([3.0, 2.0, 1.0])


def random_logits(vocab: int = 200) -> Tensor:
    return torch.randn(vocab, generator=torch.Generator().manual_seed(5)) * 3


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits[np.isfinite(logits)].max())
    return np.asarray(powers / powers.sum())


def as_numpy(logits: Tensor) -> np.ndarray:
    return np.asarray(logits.double())


def kept(stage: Stage) -> set[int]:
    return set(torch.isfinite(stage.logits).nonzero().flatten().tolist())


def last(logits: Tensor, params: SamplingParams, token_ids: list[int] | None = None) -> Stage:
    return stages(logits, params, token_ids or [])[-1]


def test_the_first_stage_is_the_models_own_distribution() -> None:
    logits = random_logits()
    first = stages(logits, SamplingParams(temperature=0.5, top_k=3))[0]
    np.testing.assert_allclose(as_numpy(first.probabilities), softmax(as_numpy(logits)), atol=1e-6)
    assert first.num_kept == len(logits)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0, 10.0])
def test_temperature_divides_the_logits(temperature: float) -> None:
    logits = random_logits()
    stage = last(logits, SamplingParams(temperature=temperature))
    np.testing.assert_allclose(as_numpy(stage.logits), as_numpy(logits) / temperature, rtol=1e-5)


@pytest.mark.parametrize("k", [1, 7, 199, 200, 2**53 - 1])
def test_top_k_keeps_the_k_largest(k: int) -> None:
    logits = random_logits()
    stage = last(logits, SamplingParams(temperature=1, top_k=k))
    assert kept(stage) == set(np.argsort(-as_numpy(logits))[:k].tolist())


@pytest.mark.parametrize("p", [1e-6, 0.3, 0.8, 0.95, 0.999])
def test_top_p_keeps_the_smallest_set_that_reaches_p(p: float) -> None:
    logits = random_logits()
    order = np.argsort(-as_numpy(logits))
    reached = np.cumsum(softmax(as_numpy(logits))[order])
    num_needed = int(np.argmax(reached >= p)) + 1
    assert kept(last(logits, SamplingParams(temperature=1, top_p=p))) == set(order[:num_needed].tolist())


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 1.0])
def test_min_p_keeps_what_is_near_the_best(p: float) -> None:
    logits = random_logits()
    chances = softmax(as_numpy(logits))
    expected = set(np.flatnonzero(chances >= p * chances.max()).tolist())
    assert kept(last(logits, SamplingParams(temperature=1, min_p=p))) == expected


def test_the_repetition_penalty_divides_positive_and_multiplies_negative_logits_of_seen_tokens() -> None:
    logits = torch.tensor([4.0, -2.0, 1.0, -1.0])
    stage = last(logits, SamplingParams(repetition_penalty=2.0), [0, 1, 1, 0])
    assert stage.logits.tolist() == [2.0, -4.0, 1.0, -1.0]


def test_the_repetition_penalty_without_any_context_changes_nothing() -> None:
    assert torch.equal(last(WORKED, SamplingParams(repetition_penalty=2.0)).logits, WORKED)


def test_the_logit_bias_is_added_before_the_penalty() -> None:
    stage = last(WORKED, SamplingParams(logit_bias={2: 5.0, 0: -1.0}, repetition_penalty=2.0), [2])
    assert stage.logits.tolist() == [2.0, 2.0, 3.0]


def test_a_bias_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="the vocabulary ends at 2"):
        stages(WORKED, SamplingParams(logit_bias={3: 1.0}))


def test_temperature_first_keeps_one_token_and_last_keeps_two() -> None:
    """At T = 0.5 the logits become 6, 4, 2: the best token alone has 0.867. Without, it has 0.665 < 0.8."""
    before = last(WORKED, SamplingParams(temperature=0.5, top_p=0.8))
    after = last(WORKED, SamplingParams(temperature=0.5, top_p=0.8, temperature_last=True))
    assert 1 / (1 + math.exp(-2) + math.exp(-4)) > 0.8 > 1 / (1 + math.exp(-1) + math.exp(-2))
    assert (kept(before), kept(after)) == ({0}, {0, 1})
    assert after.probabilities[0] == pytest.approx(1 / (1 + math.exp(-2)))


def test_the_stages_are_named_in_the_order_they_run() -> None:
    settings = {
        **{"temperature": 0.5, "top_k": 2, "top_p": 0.9, "min_p": 0.1},
        **{"repetition_penalty": 1.1, "logit_bias": {0: 1.0}},
    }
    before = ["model", "logit bias", "repetition penalty"]
    first = stages(WORKED, SamplingParams(**settings))  # type: ignore[arg-type]
    after = stages(WORKED, SamplingParams(**settings, temperature_last=True))  # type: ignore[arg-type]
    assert [stage.name for stage in first] == [*before, "temperature", "top-k", "top-p", "min-p"]
    assert [stage.name for stage in after] == [*before, "top-k", "top-p", "min-p", "temperature"]


@pytest.mark.parametrize("is_last", [False, True])
def test_probabilities_over_the_full_vocabulary_sum_to_one_at_every_stage(is_last: bool) -> None:
    params = SamplingParams(
        temperature=0.7, top_k=50, top_p=0.9, min_p=0.02, repetition_penalty=1.2, temperature_last=is_last
    )
    for stage in stages(random_logits(50_000), params, [1, 2, 3]):
        assert stage.probabilities.shape == (50_000,)
        assert float(stage.probabilities.double().sum()) == pytest.approx(1, abs=1e-5)


def test_the_models_logits_are_left_as_they_were() -> None:
    logits = random_logits()
    before = logits.clone()
    stages(logits, SamplingParams(0.5, 5, 0.9, 0.1, 1.5, {3: 1.0}), [1, 2, 3])
    assert torch.equal(logits, before)


def test_half_precision_logits_are_worked_on_in_float32() -> None:
    assert last(WORKED.bfloat16(), SamplingParams(temperature=0.3)).logits.dtype == torch.float32


def test_greedy_takes_the_best_of_what_bias_and_penalty_leave() -> None:
    assert sample(WORKED, SamplingParams(), step_rng(0, 0)) == 0
    assert sample(WORKED, SamplingParams(logit_bias={2: 5.0}), step_rng(0, 0)) == 2
    assert sample(WORKED, SamplingParams(repetition_penalty=2.0), step_rng(0, 0), [0]) == 1


def test_the_same_seed_and_step_draw_the_same_and_others_do_not() -> None:
    params, logits = SamplingParams(temperature=1.0), torch.zeros(1000)

    def drawn(seed: int) -> list[int]:
        return [sample(logits, params, step_rng(seed, index)) for index in range(20)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    assert len(set(drawn(3))) > 15
    assert drawn(3)[1:] != drawn(4)[:-1]  # neighbouring seeds are not the same stream, shifted


@pytest.mark.parametrize(
    "params", [SamplingParams(1.0), SamplingParams(0.7, top_k=3), SamplingParams(1.5, min_p=0.1)]
)
def test_tokens_are_drawn_as_often_as_their_probabilities_say(params: SamplingParams) -> None:
    num_draws = 4_000
    final = last(torch.tensor([2.0, 1.5, 1.0, 0.0, -1.0, -4.0]), params)
    counts = Counter(draw(final, params, step_rng(11, index)) for index in range(num_draws))
    for token_id, chance in enumerate(final.probabilities.tolist()):
        bound = 5 * math.sqrt(chance * (1 - chance) / num_draws)  # five standard errors
        assert counts[token_id] / num_draws == pytest.approx(chance, abs=bound + 1e-9)
