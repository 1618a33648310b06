"""Runs as streams, and the worked requests of the readings."""

from pathlib import Path

import pytest

from inference.arithmetic.metrics import e2e_s, itl_s, tpot_s, ttft_s
from inference.latency.request_events import A, B, C, D, in_chunks, of_trace
from inference.trace import Trace

RECORDED = Path(__file__).parents[3] / "lessons/traces/lighthouse.json"


def ms(value: float | None) -> float | None:
    return None if value is None else round(value * 1e3, 2)


def test_the_folklore_sum_counts_the_first_token_twice() -> None:
    tpot = tpot_s(A)
    assert tpot is not None
    assert ms(ttft_s(A) + tpot * A.num_output_tokens) == 2520
    assert ms(e2e_s(A)) == 2500


def test_two_tokens_per_chunk_turn_a_into_b() -> None:
    chunked = in_chunks(A, 2)
    assert chunked.tokens_per_event == B.tokens_per_event
    assert chunked.event_times_s == pytest.approx(B.event_times_s)
    assert in_chunks(A, 1) == A


def test_the_last_chunk_holds_what_is_left() -> None:
    assert in_chunks(A, 8).tokens_per_event == (1, *(8,) * 12, 4)
    assert in_chunks(C, 8).tokens_per_event == (1, 2)
    single = in_chunks(A, 1).__class__(0, (0.5,), (1,), 3)
    assert in_chunks(single, 4) == single


def test_chunks_move_no_end_and_lose_no_token() -> None:
    for size in range(1, 120):
        chunked = in_chunks(A, size)
        assert chunked.num_output_tokens == 101
        assert (ttft_s(chunked), e2e_s(chunked)) == (ttft_s(A), e2e_s(A))


def test_a_recorded_run_becomes_the_events_its_steps_took() -> None:
    trace = Trace.from_json(RECORDED.read_bytes())
    request = of_trace(trace)
    assert ttft_s(request) == pytest.approx(trace.ttft_s)
    assert itl_s(request) == pytest.approx(trace.itl_s)
    assert e2e_s(request) == pytest.approx(trace.e2e_s)
    assert request.num_prompt_tokens == len(trace.prompt_tokens)
    assert of_trace(trace, 4).num_output_tokens == len(trace.steps)


def test_what_cannot_be_sent_in_chunks_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more, got 0"):
        in_chunks(A, 0)
    for example in (B, D):
        with pytest.raises(ValueError, match="single tokens"):
            in_chunks(example, 2)
    trace = Trace.from_json(RECORDED.read_bytes())
    trace.steps.clear()
    with pytest.raises(ValueError, match="run the prefill first"):
        of_trace(trace)
