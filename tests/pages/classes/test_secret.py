"""What wrong tries at the teacher's secret cost, and whom; and who is the teacher for how long."""

import re
import threading
from dataclasses import dataclass

from pages.ui.classes.secret import MAX_WAIT_S, SIGNED_IN_S, Teachers, Tries
from pages.ui.state import MAX_LEARNERS_REMEMBERED

RIGHT, WRONG = "correct horse battery", "correct horse batterz"
ME = "a browser 10.0.0.7"


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
        assert "not the secret" in tries.problem(ME, WRONG, RIGHT)
        waits.append(seconds_to_wait(tries.problem(ME, WRONG, RIGHT)))
        clock.at_s += waits[-1]
    assert waits == [1, 2, 4, 8, 16, MAX_WAIT_S, MAX_WAIT_S, MAX_WAIT_S]


def test_a_try_that_comes_too_early_is_not_read_and_costs_nothing() -> None:
    clock = Clock()
    tries = Tries(clock)
    tries.problem(ME, WRONG, RIGHT)
    for _ in range(100):
        assert seconds_to_wait(tries.problem(ME, RIGHT, RIGHT)) == 1
    clock.at_s += 1
    assert tries.problem(ME, RIGHT, RIGHT) == ""


def test_the_right_secret_ends_the_waiting() -> None:
    clock = Clock()
    tries = Tries(clock)
    for _ in range(4):
        tries.problem(ME, WRONG, RIGHT)
        clock.at_s += MAX_WAIT_S
    assert tries.problem(ME, RIGHT, RIGHT) == ""
    assert tries.problem(ME, RIGHT, RIGHT) == ""
    tries.problem(ME, WRONG, RIGHT)
    assert seconds_to_wait(tries.problem(ME, WRONG, RIGHT)) == 1


def test_the_right_secret_is_heard_however_many_others_try_wrong_ones_without_pause() -> None:
    clock = Clock()
    tries = Tries(clock)
    for moment in range(500):
        for pupil in ("a pupil 10.0.0.7", "a pupil 10.0.0.8", f"a new one each time {moment}"):
            tries.problem(pupil, WRONG, RIGHT)
        assert tries.problem(ME, RIGHT, RIGHT) == ""
        clock.at_s += 0.01


def test_those_who_tried_are_remembered_within_bounds() -> None:
    tries = Tries(Clock())
    for number in range(3 * MAX_LEARNERS_REMEMBERED):
        tries.problem(f"browser {number}", WRONG, RIGHT)
    assert len(tries._wrong) == MAX_LEARNERS_REMEMBERED


def test_of_many_tries_of_one_browser_at_once_one_is_read() -> None:
    tries, problems = Tries(Clock()), []
    together = threading.Barrier(8)

    def guess() -> None:
        together.wait()
        problems.append(tries.problem(ME, WRONG, RIGHT))

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("not the secret" in problem for problem in problems) == 1


def test_without_a_secret_no_try_opens() -> None:
    assert Tries(Clock()).problem(ME, "", "") != ""


def test_a_browser_stays_the_teachers_for_a_day_of_teaching_or_until_it_signs_out() -> None:
    clock = Clock()
    teachers = Teachers(clock)
    assert not teachers.has("a")
    for browser in ("a", "b"):
        teachers.add(browser)
    teachers.remove("b")
    teachers.remove("nobody")
    assert not teachers.has("b")
    clock.at_s += SIGNED_IN_S - 1
    assert teachers.has("a")
    clock.at_s += 1
    assert not teachers.has("a")
