"""What speculation should bring, by the paper's formulas; look-up; and the account of rounds, without a model."""

from __future__ import annotations

import numpy as np
import pytest

from inference.speculation.acceptance import expected_gain, expected_tokens
from inference.speculation.draft import look_up
from inference.speculation.jobs import preset_request, speculation_job
from inference.speculation.presets import PRESETS
from inference.speculation.records import Parting, Repeat, Round, Speculated, SpeculationRequest, pass_times


@pytest.mark.parametrize(
    ("acceptance", "num_drafted", "expected"),
    [  # equation 1 of arXiv 2211.17192
        (0.6, 2, 1.96),
        (0.6, 4, 2.31),
        (0.6, 7, 2.46),
        (0.8, 2, 2.44),
        (0.8, 4, 3.36),
        (0.8, 7, 4.16),
        (0.9, 2, 2.71),
        (0.9, 4, 4.10),
        (0.9, 7, 5.70),
    ],
)
def test_expected_tokens_are_the_published_ones(acceptance: float, num_drafted: int, expected: float) -> None:
    assert expected_tokens(acceptance, num_drafted) == pytest.approx(expected, abs=5e-3)


def test_a_pass_yields_at_least_one_token_and_at_most_one_more_than_were_drafted() -> None:
    assert expected_tokens(0, 4) == 1
    assert expected_tokens(1, 4) == 5
    assert expected_tokens(0.999999, 4) == pytest.approx(5, abs=1e-4)
    assert expected_tokens(0.7, 0) == 1


def test_expected_tokens_are_those_of_drafts_accepted_one_after_another_by_a_biased_coin() -> None:
    coins = np.random.default_rng(0).random((200_000, 5)) < 0.7
    accepted = np.cumprod(coins, axis=1).sum(axis=1)
    assert expected_tokens(0.7, 5) == pytest.approx(accepted.mean() + 1, rel=5e-3)


@pytest.mark.parametrize(
    ("acceptance", "num_drafted", "gain"),
    [(0.6, 4, 1.92), (0.8, 7, 3.08), (0.8, 4, 2.80), (0.9, 7, 4.22)],  # claims g, at a draft cost of 0.05
)
def test_the_gain_in_time_is_theorem_3_8(acceptance: float, num_drafted: int, gain: float) -> None:
    assert expected_gain(acceptance, num_drafted, draft_cost=0.05) == pytest.approx(gain, abs=5e-3)


@pytest.mark.parametrize("cost", [0.05, 0.3, 0.9])
def test_a_gain_exists_only_if_acceptance_exceeds_the_drafts_cost(cost: float) -> None:
    """Corollary 3.9: with one drafted token the gain is (1 + a) / (1 + c)."""
    assert expected_gain(cost, 1, draft_cost=cost) == pytest.approx(1)
    assert expected_gain(cost + 0.05, 1, draft_cost=cost) > 1
    assert all(expected_gain(cost - 0.05, count, draft_cost=cost) < 1 for count in range(1, 9))


def test_a_dearer_pass_takes_its_share_of_the_gain() -> None:
    assert expected_gain(1, 4, draft_cost=0, pass_cost=2) == 2.5


@pytest.mark.parametrize(
    ("acceptance", "num_drafted", "words"), [(1.1, 4, "got 1.1"), (-0.1, 4, "got -0.1"), (0.5, -1, "got -1")]
)
def test_shares_and_counts_that_cannot_be_are_refused(acceptance: float, num_drafted: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        expected_tokens(acceptance, num_drafted)


@pytest.mark.parametrize(
    ("text", "num_tokens", "drafted"),
    [
        ([1, 2, 3, 9, 1, 2], 3, (3, 9, 1)),  # after 1, 2 came 3, 9, 1
        ([1, 2, 3, 9, 1, 2], 1, (3,)),
        ([1, 2, 7, 1, 2, 8, 1, 2], 1, (8,)),  # the latest of two
        ([5, 1, 2, 7, 4, 1, 2, 8, 5, 1, 2], 1, (7,)),  # the longer match, though earlier
        ([6, 6, 6], 4, (6,)),  # no further than the text reaches
        ([1, 2, 3, 4], 4, ()),
        ([3, 1, 3], 4, ()),  # one token alone is no match
        ([7], 4, ()),
        ([1, 2, 3, 1, 2], 0, ()),
    ],
)
def test_look_up_drafts_what_followed_the_newest_tokens_before(
    text: list[int], num_tokens: int, drafted: tuple[int, ...]
) -> None:
    assert look_up(text, num_tokens) == drafted


ALL_RIGHT = Round((5, 6), 2, 7, 0.1, 0.5, 0.4)
FIRST_WRONG = Round((5, 6), 0, 9, 0.1, 0.5, 0.4)
NO_DRAFT = Round((), 0, 3, 0.0, 0.5, 0.5)
AT_THE_END = Round((5, 2, 8), 2, None, 0.1, 0.5, 0.4)


@pytest.mark.parametrize(
    ("one", "last", "token_ids", "num_tested"),
    [
        (ALL_RIGHT, "bonus", (5, 6, 7), 2),
        (FIRST_WRONG, "correction", (9,), 1),
        (NO_DRAFT, "alone", (3,), 0),
        (AT_THE_END, "none", (5, 2), 2),
    ],
)
def test_a_round_adds_its_accepted_drafts_and_the_models_own_token(
    one: Round, last: str, token_ids: tuple[int, ...], num_tested: int
) -> None:
    assert (one.last, one.token_ids, one.num_tested) == (last, token_ids, num_tested)
    assert one.num_fed == len(one.drafted) + 1
    assert one.total_s == pytest.approx(one.draft_s + one.forward_s + one.verify_s)


def _speculated(*rounds: Round, plain_s: tuple[float, ...], parting: Parting | None = None) -> Speculated:
    repeat = Repeat(rounds, plain_s)
    return Speculated(SpeculationRequest("x"), "float32", 1, 0, (repeat,), "", (), 0.0, parting, "maximum")


def test_acceptance_counts_the_drafts_that_were_decided_on() -> None:
    run = _speculated(ALL_RIGHT, FIRST_WRONG, NO_DRAFT, plain_s=(1.0,) * 5)
    assert run.acceptance == pytest.approx(2 / 3), "the draft behind the wrong one was never decided on"
    assert run.share_accepted == pytest.approx(2 / 4)
    assert run.tokens_per_pass == pytest.approx(5 / 3)
    # 1 + a + a^2 in the two rounds that drafted two, 1 in the one that drafted none
    assert run.expected_tokens == pytest.approx((2 * (1 + 2 / 3 + 4 / 9) + 1) / 3)
    assert run.token_ids == (0, 5, 6, 7, 9, 3)


def test_the_gain_is_the_ratio_of_seconds_per_token() -> None:
    run = _speculated(ALL_RIGHT, FIRST_WRONG, plain_s=(2.0, 2.0))  # 2 s a token against 2 s for 4 tokens
    assert run.gain == pytest.approx(4)
    assert run.pass_cost == pytest.approx(0.9 / 2)
    # 0.05 s a drafted token; half of the passes over one token took 2 s and the others, over three, are not they
    assert run.draft_cost == pytest.approx(0.05 / 2)
    assert pass_times([run]) == {1: [2.0, 2.0], 3: [pytest.approx(0.9)] * 2}


def test_texts_that_part_within_rounding_are_a_tie_and_others_are_not() -> None:
    assert not _speculated(NO_DRAFT, plain_s=(1.0,)).is_tie
    assert _speculated(NO_DRAFT, plain_s=(1.0,), parting=Parting(3, 1e-4)).is_tie
    assert not _speculated(NO_DRAFT, plain_s=(1.0,), parting=Parting(3, 0.5)).is_tie


def test_every_setting_is_in_the_jobs_name() -> None:
    names = {
        speculation_job(*settings).name
        for settings in (
            ("copy",),
            ("edit",),
            ("copy", 4),
            ("copy", 8, 0.5),
            ("copy", 8, None, "random:tiny"),
            ("copy", 8, None, "prompt look-up", 1),
        )
    }
    assert len(names) == 6


def test_a_preset_decodes_at_its_own_temperature_unless_told_another() -> None:
    assert preset_request("random").temperature == PRESETS["random"].temperature == 1
    assert preset_request("random", temperature=0.0).temperature == 0
