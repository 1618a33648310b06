"""The thread that owns a device: order, limits, errors, and long work that gives way."""

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError

import pytest

from inference.jobs.worker import BusyError, Worker

PATIENCE_S = 30  # for what must come at once; only a broken worker takes as long


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(max_waiting=3)
    yield worker
    worker.stop()


class Gate:
    """A job that holds the worker until it is opened."""

    def __init__(self) -> None:
        self.is_reached, self._is_open = threading.Event(), threading.Event()

    def open(self) -> None:
        self._is_open.set()

    def hold(self, queue_s: float = 0.0) -> None:
        self.is_reached.set()
        assert self._is_open.wait(PATIENCE_S)


@pytest.fixture
def gate(worker: Worker) -> Iterator[Gate]:
    """The worker is held by a job until the test opens the gate."""
    gate = Gate()
    worker.submit(gate.hold)
    assert gate.is_reached.wait(PATIENCE_S)
    yield gate
    gate.open()


def noting(notes: list[str], name: str) -> Callable[[float], None]:
    return lambda queue_s: notes.append(name)


def test_jobs_run_first_in_first_out_in_one_thread(worker: Worker, gate: Gate) -> None:
    threads: list[tuple[int, int]] = []

    def job(number: int) -> Callable[[float], None]:
        return lambda queue_s: threads.append((number, threading.get_ident()))

    futures = [worker.submit(job(number)) for number in range(3)]
    gate.open()
    for future in futures:
        future.result(PATIENCE_S)
    assert [number for number, _ in threads] == [0, 1, 2]
    assert len({thread for _, thread in threads} | {threading.get_ident()}) == 2


def test_a_job_is_told_how_long_it_waited(worker: Worker) -> None:
    first = worker.submit(lambda queue_s: queue_s).result(PATIENCE_S)
    assert 0 <= first < PATIENCE_S


def test_a_job_behind_a_slow_one_has_waited_longer(worker: Worker, gate: Gate) -> None:
    waits = [worker.submit(lambda queue_s: queue_s) for _ in range(3)]
    gate.open()
    seconds = [wait.result(PATIENCE_S) for wait in waits]
    assert seconds[0] > 0


def test_the_position_counts_the_jobs_ahead(worker: Worker, gate: Gate) -> None:
    futures = [worker.submit(lambda queue_s: None) for _ in range(3)]
    assert [worker.position(future) for future in futures] == [0, 1, 2]
    assert worker.num_waiting == 3
    gate.open()
    futures[-1].result(PATIENCE_S)
    assert [worker.position(future) for future in futures] == [0, 0, 0]


def test_a_full_queue_refuses_and_takes_jobs_again_later(worker: Worker, gate: Gate) -> None:
    futures = [worker.submit(lambda queue_s: None) for _ in range(3)]
    with pytest.raises(BusyError, match="3 passes are waiting already; try again"):
        worker.submit(lambda queue_s: None)
    gate.open()
    futures[-1].result(PATIENCE_S)
    assert worker.submit(lambda queue_s: "done").result(PATIENCE_S) == "done"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt()])
def test_an_error_reaches_the_one_who_waits_and_the_worker_goes_on(worker: Worker, error: BaseException) -> None:
    def job(queue_s: float) -> None:
        raise error

    with pytest.raises(type(error)):
        worker.submit(job).result(PATIENCE_S)
    assert worker.submit(lambda queue_s: "done").result(PATIENCE_S) == "done"


def test_a_cancelled_job_does_not_run(worker: Worker, gate: Gate) -> None:
    notes: list[str] = []
    cancelled, kept = worker.submit(noting(notes, "cancelled")), worker.submit(noting(notes, "kept"))
    assert cancelled.cancel()
    gate.open()
    kept.result(PATIENCE_S)
    assert notes == ["kept"]


def test_long_work_gives_way_to_waiting_jobs_between_its_passes(worker: Worker) -> None:
    notes: list[str] = []
    gate = Gate()

    def sweep() -> Generator[None, None, str]:
        notes.append("pass 0")
        gate.hold()
        yield
        notes.append("pass 1")
        yield
        return "swept"

    swept = worker.submit_background(sweep())
    assert gate.is_reached.wait(PATIENCE_S)
    jobs = [worker.submit(noting(notes, f"job {number}")) for number in range(2)]
    gate.open()
    assert swept.result(PATIENCE_S) == "swept"
    assert notes == ["pass 0", "job 0", "job 1", "pass 1"]
    assert all(job.done() for job in jobs)


def test_long_works_take_turns_pass_by_pass(worker: Worker, gate: Gate) -> None:
    notes: list[str] = []

    def sweep(name: str) -> Generator[None, None, None]:
        for _ in range(2):
            notes.append(name)
            yield

    futures = [worker.submit_background(sweep(name)) for name in "ab"]
    gate.open()
    for future in futures:
        future.result(PATIENCE_S)
    assert notes == ["a", "b", "a", "b"]


def test_an_error_in_long_work_reaches_the_one_who_waits(worker: Worker) -> None:
    def sweep() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker.submit_background(sweep()).result(PATIENCE_S)
    assert worker.submit(lambda queue_s: "done").result(PATIENCE_S) == "done"


@pytest.mark.parametrize("ending", ["more passes", "last pass", "error", "error while closing"])
def test_long_work_cancelled_during_a_pass_ends_and_the_worker_goes_on(worker: Worker, ending: str) -> None:
    notes: list[str] = []
    gate = Gate()

    def sweep() -> Generator[None, None, None]:
        try:
            gate.hold()
            if ending == "error":
                raise ValueError("no")
            if ending != "last pass":
                yield
                notes.append("a pass after the cancel")
        finally:
            notes.append("closed")
            if ending == "error while closing":
                raise ValueError("no")

    swept = worker.submit_background(sweep())
    assert gate.is_reached.wait(PATIENCE_S)
    assert swept.cancel()
    gate.open()

    def after() -> Generator[None, None, str]:
        yield
        return "done"

    assert worker.submit_background(after()).result(PATIENCE_S) == "done"
    assert notes == ["closed"]
    with pytest.raises(CancelledError):
        swept.result(PATIENCE_S)


def test_stopping_finishes_the_job_in_hand_and_cancels_the_others() -> None:
    worker, gate = Worker(), Gate()
    in_hand = worker.submit(gate.hold)
    assert gate.is_reached.wait(PATIENCE_S)
    waiting = worker.submit(lambda queue_s: None)
    background = worker.submit_background(None for _ in range(3))
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    for future in (waiting, background):
        with pytest.raises(CancelledError):
            future.result(PATIENCE_S)
    assert not in_hand.done()
    gate.open()
    stopping.join(PATIENCE_S)
    assert not stopping.is_alive()
    assert in_hand.done()


def test_a_stopped_worker_refuses_work() -> None:
    worker = Worker()
    worker.stop()
    worker.stop()
    with pytest.raises(BusyError, match="stopping"):
        worker.submit(lambda queue_s: None)
    with pytest.raises(BusyError, match="stopping"):
        worker.submit_background(None for _ in range(3))
