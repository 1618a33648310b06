"""Long measurements: seen while they grow, shared, cancelled, refused, kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inference.jobs.experiments import MAX_RUNNING, Experiments, Job, Report, Reports, beginning
from inference.jobs.kept import Kept
from inference.jobs.limits import Limits
from inference.jobs.worker import BusyError, Worker

if TYPE_CHECKING:
    from inference.engine import Engine

PATIENCE_S = 20


@dataclass(frozen=True, slots=True)
class Count:
    """What the measurements of these tests yield."""

    values: tuple[int, ...]


class Steps:
    """A measurement of three passes, each of which waits until it is let through."""

    def __init__(self) -> None:
        self.gates = [threading.Event() for _ in range(3)]
        self.reached = [threading.Event() for _ in range(3)]
        self.num_runs = 0
        self.is_closed = threading.Event()

    def begin(self, engine: Engine, limits: Limits) -> Reports[Count]:
        self.num_runs += 1
        try:
            for place, gate in enumerate(self.gates):
                self.reached[place].set()
                assert gate.wait(PATIENCE_S)
                yield Report((place + 1) / 3, Count(tuple(range(place + 1))), f"pass {place}")
        finally:
            self.is_closed.set()
        return Count((0, 1, 2))

    def let(self, *places: int) -> None:
        for place in places:
            self.gates[place].set()


def after(check: Callable[[], None], steps: Steps) -> Callable[[Engine, Limits], Reports[Count]]:
    """How a job begins that checks something first."""

    def begin(engine: Engine, limits: Limits) -> Reports[Count]:
        check()
        return steps.begin(engine, limits)

    return begin


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.fixture
def experiments(tiny: Engine, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiments:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    return Experiments(beginning(tiny, Limits()), worker, Kept.of(tiny))


def _wait(experiments: Experiments, job: Job[Count], learner: str = "ada") -> None:
    found = experiments.get(job, learner)
    assert found is not None
    assert found.future is not None
    found.future.result(PATIENCE_S)


def test_a_measurement_is_seen_while_it_grows_and_whole_at_the_end(experiments: Experiments) -> None:
    steps = Steps()
    job = Job("count", Count, steps.begin)
    assert experiments.get(job, "ada") is None
    found = experiments.start(job, "ada")
    steps.let(0)
    assert steps.reached[1].wait(PATIENCE_S)
    assert found.is_running
    assert found.report == Report(1 / 3, Count((0,)), "pass 0")
    steps.let(1, 2)
    _wait(experiments, job)
    assert (found.state, found.result) == ("done", Count((0, 1, 2)))
    assert found.measured_on


def test_two_learners_who_ask_for_the_same_share_one_run(experiments: Experiments) -> None:
    steps = Steps()
    job = Job("count", Count, steps.begin)
    first, second = experiments.start(job, "ada"), experiments.start(job, "bob")
    assert first is second
    assert not experiments.cancel(job, "ada"), "bob still waits for it"
    steps.let(0, 1, 2)
    _wait(experiments, job, "bob")
    assert steps.num_runs == 1
    assert second.result == Count((0, 1, 2))


def test_cancel_keeps_what_is_done_and_closes_the_work_after_the_pass_in_hand(experiments: Experiments) -> None:
    steps = Steps()
    job = Job("count", Count, steps.begin)
    found = experiments.start(job, "ada")
    steps.let(0)
    assert steps.reached[1].wait(PATIENCE_S)
    assert experiments.cancel(job, "ada")
    assert (found.state, found.result) == ("cancelled", Count((0,)))
    steps.let(1)
    assert steps.is_closed.wait(PATIENCE_S)
    assert not steps.gates[2].is_set()
    assert (found.state, found.result) == ("cancelled", Count((0,)))


def test_cancel_before_the_first_pass_never_runs_the_work(experiments: Experiments, worker: Worker) -> None:
    blocked, steps = threading.Event(), Steps()
    worker.submit(lambda queue_s: blocked.wait(PATIENCE_S))
    job = Job("count", Count, steps.begin)
    experiments.start(job, "ada")
    assert experiments.cancel(job, "ada")
    blocked.set()
    worker.submit(lambda queue_s: None).result(PATIENCE_S)
    worker.submit_background(None for _ in range(2)).result(PATIENCE_S)
    assert steps.num_runs == 0


def test_a_cancelled_measurement_can_be_asked_for_again(experiments: Experiments) -> None:
    steps, again = Steps(), Steps()
    experiments.start(Job("count", Count, steps.begin), "ada")
    experiments.cancel(Job("count", Count, steps.begin), "ada")
    steps.let(0, 1, 2)
    again.let(0, 1, 2)
    job = Job("count", Count, again.begin)
    experiments.start(job, "ada")
    _wait(experiments, job)
    found = experiments.get(job, "ada")
    assert found is not None
    assert found.result == Count((0, 1, 2))


def test_what_was_measured_is_there_after_a_restart_with_its_date(
    experiments: Experiments, tiny: Engine, worker: Worker
) -> None:
    steps = Steps()
    steps.let(0, 1, 2)
    job = Job("count", Count, steps.begin)
    measured_on = ""
    experiments.start(job, "ada")
    _wait(experiments, job)
    if found := experiments.get(job, "ada"):
        measured_on = found.measured_on
    restarted = Experiments(beginning(tiny, Limits()), worker, Kept.of(tiny)).get(job, "bob")
    assert restarted is not None
    assert (restarted.state, restarted.result, restarted.measured_on) == ("done", Count((0, 1, 2)), measured_on)


def test_another_dtype_does_not_find_it(experiments: Experiments, tiny: Engine) -> None:
    Kept.of(tiny).write("count", Count, Count((1,)))
    assert Kept.of(tiny).read("count", Count) is not None
    assert Kept.of(tiny.in_dtype("bfloat16")).read("count", Count) is None


def test_a_damaged_file_is_measured_again(experiments: Experiments, tiny: Engine, tmp_path: Path) -> None:
    Kept.of(tiny).write("count", Count, Count((1,)))
    for path in tmp_path.rglob("*.json"):
        path.write_text('{"name": "count", "result": {"values": ["x"]}}')
    assert experiments.get(Job("count", Count, Steps().begin), "ada") is None


def test_a_learners_own_result_is_neither_stored_nor_shown_to_another(
    experiments: Experiments, tmp_path: Path
) -> None:
    steps = Steps()
    steps.let(0, 1, 2)
    job = Job("count", Count, steps.begin, is_kept=False)
    experiments.start(job, "ada")
    _wait(experiments, job)
    assert experiments.get(job, "bob") is None
    assert not list(tmp_path.rglob("*.json"))


def test_a_refusal_comes_before_any_work(experiments: Experiments) -> None:
    def refuse() -> None:
        raise ValueError("too long")

    steps = Steps()
    with pytest.raises(ValueError, match="too long"):
        experiments.start(Job("count", Count, after(refuse, steps)), "ada")
    assert steps.num_runs == 0


@pytest.mark.parametrize("error", [ValueError("no such thing"), MemoryError(), KeyError("x")])
def test_a_failure_is_said_and_the_next_one_runs(experiments: Experiments, error: Exception) -> None:
    def fail(engine: Engine, limits: Limits) -> Reports[Count]:
        yield Report(0.5, Count((7,)))
        raise error

    job, steps = Job("fails", Count, fail), Steps()
    found = experiments.start(job, "ada")
    assert found.future is not None
    with pytest.raises(type(error)):
        found.future.result(PATIENCE_S)
    assert (found.state, found.result) == ("failed", Count((7,)))
    assert found.problem
    steps.let(0, 1, 2)
    other = Job("count", Count, steps.begin)
    experiments.start(other, "ada")
    _wait(experiments, other)


def test_too_many_at_once_are_asked_to_come_back(experiments: Experiments) -> None:
    works = [Steps() for _ in range(MAX_RUNNING + 1)]
    jobs = [Job(f"count {place}", Count, steps.begin) for place, steps in enumerate(works)]
    for job in jobs[:MAX_RUNNING]:
        experiments.start(job, "ada")
    with pytest.raises(BusyError, match="measurements are running"):
        experiments.start(jobs[-1], "ada")
    for job, steps in zip(jobs, works, strict=True):
        experiments.cancel(job, "ada")
        steps.let(0, 1, 2)


def test_measuring_again_shows_the_old_result_until_there_is_a_new_one(experiments: Experiments) -> None:
    first, second = Steps(), Steps()
    first.let(0, 1, 2)
    job = Job("count", Count, first.begin)
    experiments.start(job, "ada")
    _wait(experiments, job)
    again = experiments.start(Job("count", Count, second.begin), "ada")
    assert again.report.partial == Count((0, 1, 2))
    second.let(0)
    assert second.reached[1].wait(PATIENCE_S)
    assert again.report.partial == Count((0,))
    second.let(1, 2)
    _wait(experiments, job)


class Check:
    """A rule that takes as long to check as the test wants."""

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.gate.wait(PATIENCE_S)


def test_nobody_waits_while_anothers_job_is_checked(experiments: Experiments, tiny: Engine) -> None:
    check, slow, quick = Check(), Steps(), Steps()
    Kept.of(tiny).write("kept", Count, Count((1,)))
    with ThreadPoolExecutor() as threads:
        ada = threads.submit(experiments.start, Job("slow", Count, after(check, slow)), "ada")
        assert check.begun.wait(PATIENCE_S)
        bobs = Job("count", Count, quick.begin)
        assert threads.submit(experiments.get, bobs, "bob").result(PATIENCE_S) is None
        assert (
            threads.submit(experiments.get, Job("kept", Count, quick.begin), "bob").result(PATIENCE_S) is not None
        )
        quick.let(0, 1, 2)
        threads.submit(experiments.start, bobs, "bob").result(PATIENCE_S)
        _wait(experiments, bobs, "bob")
        assert not threads.submit(experiments.cancel, bobs, "bob").result(PATIENCE_S)
        threads.submit(experiments.forget, "bob").result(PATIENCE_S)
        assert not ada.done(), "all of the above happened while ada's was being checked"
        check.gate.set()
        slow.let(0, 1, 2)
        assert ada.result(PATIENCE_S).future is not None


def test_two_who_ask_while_it_is_checked_still_share_one_run(experiments: Experiments) -> None:
    checks, steps = [Check(), Check()], Steps()
    with ThreadPoolExecutor() as threads:
        jobs = [Job("count", Count, after(check, steps)) for check in checks]
        asked = [threads.submit(experiments.start, job, who) for job, who in zip(jobs, "ab", strict=True)]
        for check in checks:
            assert check.begun.wait(PATIENCE_S)
        for check in checks:
            check.gate.set()
        first, second = (one.result(PATIENCE_S) for one in asked)
    assert first is second
    assert first.askers == {"a", "b"}
    steps.let(0, 1, 2)
    _wait(experiments, jobs[0])
    assert steps.num_runs == 1


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_wish_taken_back_while_it_is_checked_runs_nothing(experiments: Experiments, is_forgotten: bool) -> None:
    check, steps = Check(), Steps()
    job = Job("count", Count, after(check, steps))
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(experiments.start, job, "ada")
        assert check.begun.wait(PATIENCE_S)
        if is_forgotten:
            experiments.forget("ada")
        else:
            experiments.cancel(job, "ada")
        check.gate.set()
        with pytest.raises(BusyError, match="while it was being checked"):
            asked.result(PATIENCE_S)
    assert experiments.get(job, "ada") is None
    assert steps.num_runs == 0


def test_nobody_waits_while_a_kept_result_is_read(experiments: Experiments, tiny: Engine, tmp_path: Path) -> None:
    Kept.of(tiny).write("kept", Count, Count((1,)))
    (path,) = tmp_path.rglob("*.json")
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)  # whoever opens it waits until somebody writes: a disk as slow as the test wants
    quick = Steps()
    with ThreadPoolExecutor() as threads:
        ada = threads.submit(experiments.get, Job("kept", Count, quick.begin), "ada")
        writing = os.open(path, os.O_WRONLY)  # returns once ada's reading has begun
        quick.let(0, 1, 2)
        threads.submit(experiments.start, Job("count", Count, quick.begin), "bob").result(PATIENCE_S)
        assert not ada.done()
        os.write(writing, content)
        os.close(writing)
        found = ada.result(PATIENCE_S)
    assert found is not None
    assert found.result == Count((1,))
