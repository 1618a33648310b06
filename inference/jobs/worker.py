"""The first-in-first-out thread that owns a device; long work gives way to waiting jobs between passes."""

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class BusyError(RuntimeError):
    """The queue is full; try again in a moment."""


@dataclass(slots=True, eq=False)
class _Job:
    run: Callable[[float], Any]
    future: "Future[Any]"
    submitted_s: float


class Worker:
    """One thread, one job at a time. Scripts submit and wait; only jobs touch the model and the KV caches."""

    def __init__(self, max_waiting: int = 64) -> None:
        self._max_waiting = max_waiting
        self._waiting: deque[_Job] = deque()
        self._background: deque[tuple[Generator[object, None, Any], Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._is_stopped = False
        self._num_passes = 0
        self.in_hand: int | None = None
        """Number of the pass under way; None between passes."""
        self._thread = threading.Thread(target=self._run, name="model worker", daemon=True)
        self._thread.start()

    def submit(self, run: "Callable[[float], T | Generator[object, None, T]]") -> "Future[T]":
        """Queue a job; it is called with the seconds it waited. Raises BusyError when the queue is full.

        A job that returns a generator goes on in the background, and its future waits for what that returns.
        """
        future: Future[T] = Future()
        with self._wake:
            self._refuse_if_stopped()
            if len(self._waiting) >= self._max_waiting:
                raise BusyError(f"{self._max_waiting} passes are waiting already; try again in a moment")
            self._waiting.append(_Job(run, future, time.perf_counter()))
            self._wake.notify()
        return future

    def submit_background(self, work: Generator[object, None, T]) -> "Future[T]":
        """Queue long work that yields after every pass: run while no job waits, one pass of each in turn."""
        future: Future[T] = Future()
        with self._wake:
            self._refuse_if_stopped()
            self._background.append((work, future))
            self._wake.notify()
        return future

    def position(self, future: "Future[Any]") -> int:
        """How many jobs are ahead of this one; 0 when it is next, running or done."""
        with self._wake:
            return next((place for place, job in enumerate(self._waiting) if job.future is future), 0)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    def stop(self) -> None:
        """Finish the job in hand, cancel the others, end the thread."""
        with self._wake:
            self._is_stopped = True
            for future in [job.future for job in self._waiting] + [future for _, future in self._background]:
                future.cancel()
            self._waiting.clear()
            self._wake.notify()
        self._thread.join(timeout=30)

    def _refuse_if_stopped(self) -> None:
        if self._is_stopped:
            raise BusyError("the server is stopping; reload the page in a moment")

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._background or self._is_stopped)
                if self._is_stopped:
                    return
                job = self._waiting.popleft() if self._waiting else None
                background = self._background[0] if job is None else None
            self._num_passes += 1
            self.in_hand = self._num_passes
            if job is not None:
                self._do(job)
            elif background is not None:
                self._advance(*background)
            self.in_hand = None

    def _advance(self, work: Generator[object, None, Any], future: "Future[Any]") -> None:
        """One pass of the work. Its future stays pending to the end, so that it can be cancelled in between."""
        try:
            if future.cancelled():
                work.close()
            else:
                next(work)
                with self._wake:
                    self._background.rotate(-1)
                return
        except StopIteration as end:
            if _is_wanted(future):  # it may have been cancelled during the last pass
                future.set_result(end.value)
        except BaseException as error:  # noqa: BLE001  # whatever it was, the one who waits must hear of it
            if not future.cancelled() and _is_wanted(future):
                future.set_exception(error)
        with self._wake:
            self._background.popleft()

    def _do(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            result = job.run(time.perf_counter() - job.submitted_s)
        except BaseException as error:  # noqa: BLE001  # the same
            job.future.set_exception(error)
            return
        if isinstance(result, Generator):
            with self._wake:
                self._background.appendleft((result, job.future))
        else:
            job.future.set_result(result)


def _is_wanted(future: "Future[Any]") -> bool:
    """Of work that has ended; what began as a job runs already."""
    return future.running() or future.set_running_or_notify_cancel()
