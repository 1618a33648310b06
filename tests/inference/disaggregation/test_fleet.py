"""Simulated workers against hand calculations, and against the formula of a single server."""

import random
import re
from dataclasses import dataclass

import pytest

from inference.arithmetic.metrics import itl_s, ttft_s
from inference.catalogue import hardware, models
from inference.disaggregation.fleet import Fleet, poisson, simulate
from inference.disaggregation.pace import ComputedPace, MeasuredPace
from inference.disaggregation.records import ClientRequest
from inference.latency.queueing import expected_wait_s


@dataclass(frozen=True)
class Flat:
    """A prefill takes 10 ms a token, a decode pass 1 s whatever is in it."""

    def prefill_s(self, num_tokens: int) -> float:
        return num_tokens / 100

    def decode_s(self, batch_size: int, context_len: int) -> float:
        return 1.0


def seen(asks: list[ClientRequest], fleet: Fleet, bytes_per_token: float = 0.0) -> list[list[float]]:
    return [
        [round(t, 9) for t in request.event_times_s]
        for request in simulate(asks, fleet, Flat(), bytes_per_token=bytes_per_token)
    ]


def test_a_long_prompt_stalls_the_stream_beside_it_and_not_the_one_elsewhere() -> None:
    asks = [ClientRequest(0.0, 100, 4), ClientRequest(2.5, 500, 1)]
    # together: first token at 1 s, then 2 and 3 s, then the prompt that came at 2.5 s runs until 8 s
    assert seen(asks, Fleet(1, 0)) == [[1.0, 2.0, 3.0, 9.0], [8.0]]
    assert seen(asks, Fleet(1, 1)) == [[1.0, 2.0, 3.0, 4.0], [7.5]]


def test_the_cache_waits_for_the_link_and_the_second_token_for_the_cache() -> None:
    asks = [ClientRequest(0.0, 100, 2), ClientRequest(0.0, 100, 2)]
    # 100 tokens of 10 bytes at 200 bytes/s take 5 s each; the link takes one after the other
    assert seen(asks, Fleet(1, 1, link=200.0), bytes_per_token=10) == [[1.0, 7.0], [2.0, 12.0]]


def test_streams_share_a_pass_as_far_as_there_are_places() -> None:
    asks = [ClientRequest(0.0, 100, 3), ClientRequest(0.0, 50, 3)]
    assert seen(asks, Fleet(1, 1)) == [[1.0, 2.0, 3.0], [1.5, 3.0, 4.0]]
    assert seen(asks, Fleet(1, 1, most_streams=1)) == [[1.0, 2.0, 3.0], [1.5, 4.0, 5.0]]


def test_prompts_apart_wait_in_one_queue_and_together_they_are_dealt_out() -> None:
    asks = [ClientRequest(0.0, 900, 1), ClientRequest(0.0, 100, 1), ClientRequest(0.1, 100, 1)]
    assert seen(asks, Fleet(2, 1)) == [[9.0], [1.0], [2.0]]
    assert seen(asks, Fleet(2, 0)) == [[9.0], [1.0], [10.0]]


def test_a_new_cache_goes_to_the_decode_worker_with_the_fewest_streams() -> None:
    asks = [ClientRequest(0.0, 100, 9), ClientRequest(0.5, 100, 9), ClientRequest(1.0, 100, 9)]
    found = simulate(asks, Fleet(3, 3), Flat(), bytes_per_token=0.0)
    assert [request.event_times_s[1] for request in found] == pytest.approx([2.0, 2.5, 3.0])  # nobody waits


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_prompts_alone_wait_as_the_formula_for_one_server_says(load: float) -> None:
    lengths = [30, 60, 90]
    waits = []
    for seed in range(60):
        asks = poisson(load / 0.6, 500, prompt_tokens=60, output_tokens=1, seed=seed)
        drawn = random.Random(seed).choices(lengths, k=500)
        same = [ClientRequest(ask.arrival_s, length, 1) for ask, length in zip(asks, drawn, strict=True)]
        found = simulate(same, Fleet(1, 0), Flat(), bytes_per_token=0.0)
        waits += [ttft_s(one) - one.num_prompt_tokens / 100 for one in found[100:]]
    expected = expected_wait_s([length / 100 for length in lengths], load)
    assert sum(waits) / len(waits) == pytest.approx(expected, rel=0.12)


def test_every_request_gets_its_tokens_and_later_ones_never_earlier() -> None:
    asks = poisson(2.0, 200, prompt_tokens=40, output_tokens=8, seed=3)
    for fleet in (Fleet(4, 0), Fleet(2, 2, link=5e3, most_streams=3)):
        found = simulate(asks, fleet, Flat(), bytes_per_token=10)
        assert [one.num_output_tokens for one in found] == [ask.output_tokens for ask in asks]
        assert all(gap > 0 for one in found for gap in itl_s(one))


def test_requests_arrive_at_their_rate_with_lengths_around_the_mean() -> None:
    asks = poisson(5.0, 500, prompt_tokens=100, output_tokens=10, seed=1)
    assert 500 / asks[-1].arrival_s == pytest.approx(5.0, rel=0.15)
    assert {50 <= ask.prompt_tokens <= 150 and 5 <= ask.output_tokens <= 15 for ask in asks} == {True}
    assert sum(ask.prompt_tokens for ask in asks) / 500 == pytest.approx(100, rel=0.05)
    assert asks == poisson(5.0, 500, prompt_tokens=100, output_tokens=10, seed=1)


def test_a_measured_pace_lies_on_straight_lines_between_the_passes() -> None:
    pace = MeasuredPace(prefill=((100, 1.0), (300, 2.0)), decode=((1, 0.1), (4, 0.4)))
    assert pace.prefill_s(200) == pytest.approx(1.5)
    assert pace.prefill_s(500) == pytest.approx(3.0)  # on along the last line
    assert pace.decode_s(2, 1000) == pytest.approx(0.2)
    assert pace.decode_s(1, 1) == pytest.approx(0.1)


def test_a_computed_pace_is_the_roofline_of_the_datasheet() -> None:
    h100 = hardware()["h100-sxm-80gb"]
    pace = ComputedPace(models()["llama-3.1-8b"], h100, "bfloat16")
    # claims: 2 FLOPs for each of 7.5e9 multiplied weights and 2,048 tokens at 989 TFLOP/s, attention on top
    assert pace.prefill_s(2048) == pytest.approx(2 * 6.98e9 * 2048 / 989e12, rel=0.06)
    assert pace.decode_s(1, 128) == pytest.approx(15.0e9 / 3.35e12, rel=0.02)
    assert pace.decode_s(1, 65) == pace.decode_s(1, 128) > pace.decode_s(1, 64)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Fleet(0, 1), "1 or more prefill workers"),
        (lambda: Fleet(30, 3), "at most 32 in all, got 30 and 3"),
        (lambda: Fleet(1, 1, link=0.0), "0.0 bytes/s"),
        (lambda: poisson(0.0, 10, prompt_tokens=1, output_tokens=1, seed=0), "a rate above 0"),
        (lambda: poisson(1.0, 501, prompt_tokens=1, output_tokens=1, seed=0), "1 to 500 requests"),
        (lambda: MeasuredPace(((1, 1.0),), ()).prefill_s(3), "two measured passes"),
    ],
)
def test_what_cannot_be_simulated_is_refused(make: object, problem: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=re.escape(problem)):
        make()
