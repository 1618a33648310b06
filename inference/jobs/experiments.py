"""Long measurements: run in the worker's background, seen while they grow, kept for everyone on this machine.

A measurement is of the machine, not of a learner: whoever opens the page while it runs sees it grow, and two
learners who ask for the same one share it. It stops when the last of those who asked has cancelled.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from inference.jobs.drive import Drive
from inference.jobs.kept import Kept
from inference.jobs.worker import BusyError, Worker

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

T = TypeVar("T")
R = TypeVar("R")
MAX_RUNNING = 8
_MAX_REMEMBERED = 256  # finished ones that belong to one learner's text; kept results are on disk


@dataclass(frozen=True, slots=True)
class Report(Generic[T]):
    """How far a measurement is."""

    fraction: float
    """Of the work, 0 to 1."""
    partial: T | None = None
    """What is known so far; never changed later."""
    doing: str = ""
    """Words for the screen: "512 tokens, warm-up"."""


Reports = Generator[Report[T], None, T]


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """A measurement that can be asked for: what it is called, how it begins."""

    name: str
    """Unique, with the settings in it: results are found by it."""
    kind: type[T]
    """What it yields in the end: a frozen dataclass that pydantic can write and read."""
    begin: Callable[["Engine", "Limits"], Reports[T]]
    """Looks at what is asked for now, raises ValueError before any work, and gives the work: it yields after every
    forward pass, so that no learner's step waits for longer."""
    is_kept: bool = True
    """False if the result depends on a learner's own text: it is then neither stored nor shared."""
    settled: "Callable[[], Job[T]] | None" = None
    """The same job with what the learner's page holds now, for one that looks there as it starts."""


def job_when_asked(
    name: str,
    kind: type[T],
    asked: Callable[[], R],
    begin: "Callable[[Engine, Limits, R], Reports[T]]",
) -> Job[T]:
    """Of a learner's own request, as it stands when they press: looked up where the page is, before it is sent."""

    def settled() -> Job[T]:
        request = asked()
        return Job(name, kind, lambda engine, limits: begin(engine, limits, request), is_kept=False)

    return Job(name, kind, lambda engine, limits: settled().begin(engine, limits), is_kept=False, settled=settled)


Begin = Callable[[Job[Any]], Reports[Any]]
"""Begins a job where the model is."""


def beginning(engine: "Engine", limits: "Limits") -> Begin:
    """In this process."""
    return lambda job: job.begin(engine, limits)


State = Literal["running", "done", "cancelled", "failed"]


@dataclass(slots=True, eq=False)
class Experiment(Generic[T]):
    """One measurement under way or ended. The worker changes it, pages read it."""

    job: Job[T]
    state: State = "running"
    report: Report[T] = field(default_factory=lambda: Report(0.0))
    result: T | None = None
    """What is known: the whole at the end, as far as it got if cancelled."""
    problem: str = ""
    measured_on: str = ""
    """ISO date of the end; empty before."""
    askers: set[str] = field(default_factory=set)
    started_s: float = 0.0
    """When its first pass began, on the monotonic clock; 0 while it waits for its turn."""
    future: "Future[T] | None" = None

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def left_s(self) -> float | None:
        """Seconds it still needs if it goes on as it has; None where that cannot be said yet."""
        if not self.is_running or not self.started_s or self.report.fraction < 0.02:
            return None
        elapsed_s = time.monotonic() - self.started_s
        return elapsed_s * (1 - self.report.fraction) / self.report.fraction


class Experiments:
    """Starts, finds and cancels measurements; one of each name at a time."""

    def __init__(self, begin: Begin, worker: Worker, kept: Kept) -> None:
        self._begin, self._worker, self._kept = begin, worker, kept
        self._lock = threading.Lock()
        self._found: dict[str, Experiment[Any]] = {}
        self._being_checked: dict[object, tuple[str, str]] = {}
        """Wishes on their way, as (key, learner); one that is taken back meanwhile is no longer among them."""

    def get(self, job: Job[T], learner: str) -> Experiment[T] | None:
        """The measurement as it stands: running, ended, or read from disk."""
        key = _key(job, learner)
        with self._lock:
            if key in self._found or not job.is_kept:
                return self._found.get(key)
        stored = self._kept.read(job.name, job.kind)  # nobody waits for a disk
        if stored is None:
            return None
        result, measured_on = stored
        with self._lock:
            return self._found.setdefault(key, Experiment(job, "done", result=result, measured_on=measured_on))

    def start(self, job: Job[T], learner: str) -> Experiment[T]:
        """Measure, or join the one under way. ValueError refuses it; BusyError asks to come back."""
        key, wish = _key(job, learner), object()
        with self._lock:
            if joined := self._joined(key, learner):
                return joined
            self._refuse_if_full()
            self._being_checked[wish] = (key, learner)
        try:  # with no lock: it tokenises, and tries out what was written
            work = self._begin(job.settled() if job.settled else job)
        except BaseException:
            with self._lock:
                self._being_checked.pop(wish, None)
            raise
        with ExitStack() as unless_started, self._lock:
            unless_started.callback(work.close)
            if self._being_checked.pop(wish, None) is None:
                raise BusyError("this was cancelled while it was being checked; ask again")
            if joined := self._joined(key, learner):
                return joined
            self._refuse_if_full()
            unless_started.pop_all()
            return self._started(job, work, key, learner)

    def _joined(self, key: str, learner: str) -> Experiment[Any] | None:
        experiment = self._found.get(key)
        if experiment is None or not experiment.is_running:
            return None
        experiment.askers.add(learner)
        return experiment

    def _refuse_if_full(self) -> None:
        if sum(experiment.is_running for experiment in self._found.values()) >= MAX_RUNNING:
            raise BusyError(f"{MAX_RUNNING} measurements are running on this machine; try again in a moment")

    def _started(self, job: Job[T], work: Reports[T], key: str, learner: str) -> Experiment[T]:
        self._forget_oldest()
        new = Experiment(job, askers={learner})
        if old := self._found.pop(key, None):
            new.report = Report(0.0, old.result)  # the old result stays on the screen until there is a new one
        self._found[key] = new
        new.future = self._worker.submit_background(self._watched(new, work))
        return new

    def cancel(self, job: Job[Any], learner: str) -> bool:
        """Take back one learner's wish; True if the measurement stops, because nobody else waits for it."""
        key = _key(job, learner)
        with self._lock:
            self._take_wishes_back(lambda wish: wish == (key, learner))
            experiment = self._found.get(key)
            return experiment is not None and _take_back(experiment, learner)

    def forget(self, learner: str) -> None:
        """Take back all wishes of this learner, and drop what was made of their own text."""
        with self._lock:
            self._take_wishes_back(lambda wish: wish[1] == learner)
            for key, experiment in list(self._found.items()):
                if learner in experiment.askers:
                    _take_back(experiment, learner)
                if not experiment.job.is_kept and key == _key(experiment.job, learner):
                    del self._found[key]

    def _take_wishes_back(self, is_meant: Callable[[tuple[str, str]], bool]) -> None:
        for place, wish in list(self._being_checked.items()):
            if is_meant(wish):
                del self._being_checked[place]

    def _watched(self, experiment: Experiment[T], work: Reports[T]) -> Generator[None, None, T]:
        experiment.started_s = time.monotonic()
        drive = Drive(work)
        try:
            for report in drive:
                newest = experiment.report.partial if report.partial is None else report.partial
                experiment.report = replace(report, partial=newest)
                yield
            self._end(experiment, drive.result)
            return drive.result
        except (GeneratorExit, CancelledError):
            raise
        except (ValueError, RuntimeError, MemoryError) as error:
            experiment.problem = str(error) or f"no memory was left ({type(error).__name__})"
            experiment.state, experiment.result = "failed", experiment.report.partial
            raise
        except BaseException as error:
            experiment.problem = f"the measurement failed ({type(error).__name__}); measure again"
            experiment.state, experiment.result = "failed", experiment.report.partial
            raise
        finally:
            work.close()

    def _end(self, experiment: Experiment[T], result: T) -> None:
        job = experiment.job
        measured_on = self._kept.write(job.name, job.kind, result) if job.is_kept else self._kept.today()
        with self._lock:
            if experiment.is_running:  # cancelled during its last pass stays cancelled
                experiment.result, experiment.measured_on = result, measured_on
                experiment.report, experiment.state = Report(1.0, result), "done"

    def _forget_oldest(self) -> None:
        ended = [key for key, experiment in self._found.items() if not experiment.is_running]
        for key in ended[: max(len(ended) - _MAX_REMEMBERED, 0)]:
            del self._found[key]


def _take_back(experiment: Experiment[Any], learner: str) -> bool:
    if not experiment.is_running:
        return False
    experiment.askers.discard(learner)
    if experiment.askers or experiment.future is None:
        return False
    experiment.future.cancel()
    experiment.state, experiment.result = "cancelled", experiment.report.partial
    return True


def _key(job: Job[Any], learner: str) -> str:
    return job.name if job.is_kept else f"{job.name}\n{learner}"
