"""Requests in turn on one server: order by hand, waits by a formula, and what no load changes."""

import pytest

from inference.arithmetic.metrics import Request, e2e_s, tpot_s, ttft_s
from inference.latency.shared_server import _in_turn, share

RUN = Request(0, (0.5, 0.6, 0.7, 0.8, 0.9), (1,) * 5, 12)
SINGLE = Request(0, (1.0,), (1,), 12)


def test_two_requests_take_turns_as_worked_by_hand() -> None:
    # passes of 2 s and 1 s; the second arrives at 1 s, waits for the prefill in hand, then for the first's decode
    assert _in_turn([2, 1, 1], [0, 1], [3, 2]) == [[2, 5, 7], [4, 6]]


def test_an_idle_server_waits_for_the_next_request() -> None:
    assert _in_turn([2, 1], [0, 10], [2, 2]) == [[2, 3], [12, 13]]


def test_with_one_pass_each_the_wait_is_that_of_md1() -> None:
    load = 0.7
    pool = share(SINGLE, load=load, num_requests=40_000, seed=1)
    mean = sum(ttft_s(one) - 1.0 for one in pool) / len(pool)
    assert mean == pytest.approx(load / (2 * (1 - load)), rel=0.06)  # M/D/1, service 1 s


def test_nearly_no_load_leaves_every_request_as_it_was() -> None:
    pool = share(RUN, load=1e-6, num_requests=50, seed=3)
    assert {round(ttft_s(one), 9) for one in pool} == {0.5}
    assert all(tpot_s(one) == pytest.approx(0.1) for one in pool)
    assert {one.num_output_tokens for one in pool} == {4, 5}


def test_load_raises_both_ttft_and_tpot() -> None:
    calm, busy = (share(RUN, load=load, num_requests=300, seed=3) for load in (0.1, 0.9))
    assert sum(map(ttft_s, busy)) > 1.5 * sum(map(ttft_s, calm))
    assert sum(map(e2e_s, busy)) > 1.5 * sum(map(e2e_s, calm))
    assert sum(tpot_s(one) or 0 for one in busy) > 1.5 * sum(tpot_s(one) or 0 for one in calm)


@pytest.mark.parametrize("load", [0.0, 1.0, -0.5])
def test_a_load_that_cannot_be_simulated_is_refused(load: float) -> None:
    with pytest.raises(ValueError, match="load"):
        share(RUN, load=load, num_requests=3, seed=0)
