"""The bounded way to measure: what is timed, what is not begun, and what is said about it."""

from collections.abc import Callable

import numpy as np
import pytest

from inference.jobs.bounded import CALL_S, Budget, Climb, Size, TimedSize, climb
from inference.jobs.drive import drained
from inference.jobs.worker import Worker


class Counted:
    """Work that costs next to nothing and knows how often it was prepared and run."""

    def __init__(self, *works: float) -> None:
        self.prepared: list[float] = []
        self.ran: list[float] = []
        self.sizes = [Size(f"size {work:g}", work, lambda work=work: self._prepare(work)) for work in works]  # type: ignore[misc]

    def _prepare(self, work: float) -> Callable[[], object]:
        self.prepared.append(work)
        return lambda: self.ran.append(work)


def found(counted: Counted, budget: Budget, repeats: int = 3) -> tuple[Climb, list[float]]:
    return drained(climb(counted.sizes, budget, repeats=repeats))


def test_sizes_are_timed_from_the_smallest_up_with_one_warm_up_each() -> None:
    counted = Counted(1, 2, 4)
    result, _ = found(counted, Budget(100.0, 100.0))
    assert counted.ran == [1] * 4 + [2] * 4 + [4] * 4
    assert [timed.work for timed in result.timed] == [1, 2, 4]
    assert {len(timed.times_s) for timed in result.timed} == {3}
    assert result.left_out == ""


def test_a_size_expected_to_take_too_long_is_neither_begun_nor_prepared_and_is_said() -> None:
    counted = Counted(1, 1e15, 1e16)  # the first takes more than a nanosecond, so the second would take days
    result, _ = found(counted, Budget(1e9))
    assert counted.prepared == [1]
    assert [timed.work for timed in result.timed] == [1]
    assert result.left_out.startswith("size 1e+15: one was expected to take ")
    assert result.left_out.endswith(", and others wait meanwhile")


def test_without_any_time_the_smallest_size_is_timed_once_and_the_rest_is_said() -> None:
    counted = Counted(1, 2)
    result, _ = found(counted, Budget(0.0))
    assert counted.ran == [1, 1], "a warm-up and one that counts"
    assert result.left_out == "size 2: the 0 s for all of it would not have been enough"


@pytest.mark.parametrize(
    ("call_s", "num_calls", "spent_s", "is_refused"),
    [
        (CALL_S, 1, 0.0, False),
        (CALL_S * 1.01, 1, 0.0, True),  # holds others up
        (0.1, 1, 9.9, False),
        (0.1, 2, 9.9, True),  # 10.1 of 10 s
        (0.1, 1, 9.95, True),
    ],
)
def test_a_call_is_refused_for_its_own_length_or_for_the_time_it_leaves(
    call_s: float, num_calls: int, spent_s: float, is_refused: bool
) -> None:
    budget = Budget(10.0)
    budget.spend(spent_s)
    assert bool(budget.refusal(call_s, num_calls)) == is_refused


def test_it_gives_way_after_every_call_and_its_fraction_never_falls() -> None:
    counted = Counted(1, 2, 4)
    _, fractions = found(counted, Budget(100.0, 100.0))
    assert len(fractions) == len(counted.ran)
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] < 1


def test_a_job_that_waits_has_its_turn_before_the_next_call() -> None:
    worker, order = Worker(), list[str]()

    def run() -> None:
        order.append("call")
        worker.submit(lambda queue_s: order.append("job"))

    sizes = [Size("a call", 1, lambda: run)]
    worker.submit_background(climb(sizes, Budget(100.0, 100.0), repeats=3)).result(60)
    worker.submit(lambda queue_s: None).result(60)
    worker.stop()
    assert order == ["call", "job"] * 4


def test_quartiles_are_numpys_and_of_a_single_repeat_it_is_itself() -> None:
    timed = TimedSize(1, (0.4, 0.1, 0.2, 0.9))
    assert timed.quartiles_s == pytest.approx(tuple(np.percentile([0.4, 0.1, 0.2, 0.9], [25, 50, 75])))
    assert timed.best_s == 0.1
    assert TimedSize(1, (0.4,)).quartiles_s == (0.4, 0.4, 0.4)
