"""What wrong tries at the teacher's secret cost, and whom."""

import re
import threading
from dataclasses import dataclass

from pages.ui.class_secret import MAX_WAIT_S, Tries

RIGHT, WRONG = "correct horse battery", "correct horse batterz"


@dataclass
class Clock:
    """Moves only when it is told to."""

    at_s: float = 100.0

    def __call__(self) -> float:
        return self.at_s


def seconds_to_wait(problem: str) -> float:
    found = re.search(r"read in (\d+) s", problem)
    assert found, problem
    return float(found[1])


def test_each_wrong_try_doubles_the_wait_up_to_a_limit() -> None:
    clock = Clock()
    tries, waits = Tries(clock), []
    for _ in range(8):
        assert "not the secret" in tries.problem(WRONG, RIGHT)
        waits.append(seconds_to_wait(tries.problem(WRONG, RIGHT)))
        clock.at_s += waits[-1]
    assert waits == [1, 2, 4, 8, 16, MAX_WAIT_S, MAX_WAIT_S, MAX_WAIT_S]


def test_a_try_that_comes_too_early_is_not_read_and_costs_nothing() -> None:
    clock = Clock()
    tries = Tries(clock)
    tries.problem(WRONG, RIGHT)
    for _ in range(100):
        assert seconds_to_wait(tries.problem(RIGHT, RIGHT)) == 1
    clock.at_s += 1
    assert tries.problem(RIGHT, RIGHT) == ""


def test_the_right_secret_ends_the_waiting() -> None:
    clock = Clock()
    tries = Tries(clock)
    for _ in range(4):
        tries.problem(WRONG, RIGHT)
        clock.at_s += MAX_WAIT_S
    assert tries.problem(RIGHT, RIGHT) == ""
    assert tries.problem(RIGHT, RIGHT) == ""
    tries.problem(WRONG, RIGHT)
    assert seconds_to_wait(tries.problem(WRONG, RIGHT)) == 1


def test_of_many_tries_at_once_one_is_read() -> None:
    tries, problems = Tries(Clock()), []
    together = threading.Barrier(8)

    def guess() -> None:
        together.wait()
        problems.append(tries.problem(WRONG, RIGHT))

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("not the secret" in problem for problem in problems) == 1


def test_without_a_secret_no_try_opens() -> None:
    assert Tries(Clock()).problem("", "") != ""
