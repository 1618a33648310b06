"""Latency metrics from event times."""

import pytest

from inference.arithmetic.metrics import (
    Request,
    duration_s,
    e2e_s,
    goodput,
    itl_s,
    percentile,
    tpot_s,
    tps_per_user,
    tps_total,
    ttft_s,
)


def stream(first_s: float, gap_s: float, tokens: list[int], sent_s: float = 0.0) -> Request:
    times = tuple(sent_s + first_s + gap_s * i for i in range(len(tokens)))
    return Request(sent_s=sent_s, event_times_s=times, tokens_per_event=tuple(tokens), num_prompt_tokens=12)


A = stream(0.5, 0.020, [1] * 101)  # one token per event
B = stream(0.5, 0.040, [1] + [2] * 50)  # then two per event: the same tokens at the same pace
C = stream(0.5, 0.200, [1] * 3)


def test_one_token_per_event_makes_every_gap_the_mean() -> None:
    assert ttft_s(A) == 0.5
    assert e2e_s(A) == pytest.approx(2.5)
    assert tpot_s(A) == pytest.approx(0.020)
    assert itl_s(A) == pytest.approx([0.020] * 100)
    assert tps_per_user(A) == pytest.approx(50)


def test_e2e_is_ttft_and_n_minus_one_times_tpot() -> None:
    tpot = tpot_s(A)
    assert tpot is not None
    assert e2e_s(A) == pytest.approx(ttft_s(A) + 100 * tpot)
    assert ttft_s(A) + 101 * tpot == pytest.approx(2.520)  # the common N form counts the first token twice


def test_an_empty_first_event_is_no_token() -> None:
    request = Request(sent_s=10, event_times_s=(10.1, 10.5, 10.6), tokens_per_event=(0, 1, 1), num_prompt_tokens=3)
    assert ttft_s(request) == pytest.approx(0.5)
    assert itl_s(request) == pytest.approx([0.1])


def test_two_tokens_per_event_double_the_gaps_and_not_the_pace() -> None:
    assert tpot_s(B) == pytest.approx(0.020)
    assert itl_s(B) == pytest.approx([0.040] * 50)


def test_a_single_token_has_no_pace() -> None:
    single = stream(0.5, 0, [1])
    assert tpot_s(single) is None
    assert tps_per_user(single) is None
    assert itl_s(single) == []


def test_itl_shows_the_stutter_that_tpot_averages_away() -> None:
    stutter = Request(
        sent_s=0, event_times_s=(0.5, 0.51, 0.52, 1.1), tokens_per_event=(1, 1, 1, 1), num_prompt_tokens=3
    )
    assert tpot_s(stutter) == pytest.approx(0.2)
    assert max(itl_s(stutter)) == pytest.approx(0.58)


def test_system_throughput_counts_all_tokens_from_first_sent_to_last_event() -> None:
    later = stream(0.5, 0.020, [1] * 101, sent_s=2.5)
    assert duration_s([A, later]) == pytest.approx(5.0)
    assert tps_total([A, later]) == pytest.approx(202 / 5)


def test_goodput_counts_requests_that_keep_every_limit() -> None:
    pool = [A, C, stream(0.5, 0, [1])]
    assert goodput(pool) == pytest.approx(3 / 2.5)
    assert goodput(pool, tpot_limit_s=0.1) == pytest.approx(2 / 2.5)
    assert goodput(pool, tpot_limit_s=0.1, e2e_limit_s=1) == pytest.approx(1 / 2.5)
    assert goodput(pool, ttft_limit_s=0.4) == 0


def test_percentiles_interpolate_as_numpy_does() -> None:
    assert percentile([1, 2, 3, 4], 50) == 2.5
    assert percentile(list(range(101)), 99) == 99
    assert percentile([7], 99) == 7
    with pytest.raises(ValueError, match="1 to 99, got 100"):
        percentile([1, 2], 100)


@pytest.mark.parametrize(
    ("times", "tokens", "message"),
    [
        ((1.0, 2.0), (1,), "2 event times for 1 token counts"),
        ((2.0, 1.0), (1, 1), "must not go back"),
        ((-1.0,), (1,), "nor start before sent_s"),
        ((1.0,), (0,), "at least one output token"),
        ((), (), "at least one output token"),
    ],
)
def test_events_that_cannot_be_are_refused(times: tuple[float, ...], tokens: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Request(sent_s=0, event_times_s=times, tokens_per_event=tokens, num_prompt_tokens=1)
