"""What the pages have asked of the engine and not yet heard of."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from inference.jobs.worker import BusyError
from inference.server.messages import Begin, Call, Cancel, Reply

MAX_WAITING = 64


class EngineLostError(BusyError):
    """The engine's process ended; it is being started again."""


@dataclass(slots=True, eq=False)
class Waiting:
    """One call on its way."""

    message: Call | Begin
    take_in: Callable[[Reply, bool], Any]
    """What the answer means here, and whether anybody still waits for it."""
    future: "Future[Any]" = field(default_factory=Future)
    num_lost: int = 0
    """Processes that ended while it was with them."""


class Calls:
    """Numbered, first in first out. What cannot be sent, because the process ends, is kept for the next one."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Waiting] = {}

    def ask(
        self,
        do: Callable[[Any], object],
        *,
        run: str = "",
        take_in: Callable[[Reply, bool], Any] = lambda answer, _: answer.value,
    ) -> "Future[Any]":
        """Have something done where the model is. BusyError if too many wait already."""
        with self._lock:
            if len(self._waiting) >= MAX_WAITING:
                raise BusyError(f"{MAX_WAITING} passes are waiting already; try again in a moment")
        return self.add(Call(next(self._numbers), do, run), take_in)

    def tell(self, do: Callable[[Any], object]) -> None:
        """Have something done, however many wait."""
        self.add(Call(next(self._numbers), do), lambda answer, _: answer.value)

    def new_number(self) -> int:
        return next(self._numbers)

    def add(self, message: Call | Begin, take_in: Callable[[Reply, bool], Any]) -> "Future[Any]":
        waiting = Waiting(message, take_in)
        with self._lock:
            self._waiting[message.number] = waiting
        waiting.future.add_done_callback(partial(self._cancelled, message.number))
        self._send(message)
        return waiting.future

    def _cancelled(self, number: int, future: "Future[Any]") -> None:
        if future.cancelled():
            self._send(Cancel(number))

    def answered(self, answer: Reply) -> bool:
        """Whether it was for one of these."""
        with self._lock:
            waiting = self._waiting.pop(answer.number, None)
        if waiting is None:
            return False
        future = waiting.future
        is_wanted = future.running() or (not future.cancelled() and future.set_running_or_notify_cancel())
        try:
            value = waiting.take_in(answer, is_wanted)
        except BaseException as error:  # noqa: BLE001  # whatever it was, the one who waits must hear of it
            answer = replace(answer, error=error)
        if not is_wanted:
            return True
        if answer.error is not None:
            future.set_exception(answer.error)
        else:
            future.set_result(value)
        return True

    def again(self, number: int) -> None:
        """Send what was sent before."""
        with self._lock:
            waiting = self._waiting.get(number)
        if waiting is not None:
            self._send(waiting.message)

    def in_hand(self, numbers: tuple[int, ...]) -> None:
        """These have begun: too late to take them back."""
        with self._lock:
            begun = [self._waiting[number] for number in numbers if number in self._waiting]
        for waiting in begun:
            if not (waiting.future.running() or waiting.future.cancelled()):
                waiting.future.set_running_or_notify_cancel()

    def lost(self, why: str) -> None:
        """Their process has ended. What has twice been in one that did is given up, and what only began a look."""
        with self._lock:
            everyone = list(self._waiting.items())
        for number, waiting in everyone:
            waiting.num_lost += 1
            if isinstance(waiting.message, Begin):
                self.answered(Reply(number, error=EngineLostError(f"{why}; ask again when it is back")))
            elif waiting.num_lost > 1:
                problem = f"{why} twice at this pass; what was answered before is kept"
                self.answered(Reply(number, error=EngineLostError(problem)))

    def send_all(self) -> None:
        """To a new process, in the old order."""
        with self._lock:
            self._waiting = {number: one for number, one in self._waiting.items() if not one.future.cancelled()}
            everyone = list(self._waiting.values())
        for waiting in everyone:
            self._send(waiting.message)

    def stopped(self) -> None:
        with self._lock:
            everyone, self._waiting = list(self._waiting.values()), {}
        for waiting in everyone:
            if not waiting.future.cancel() and not waiting.future.done():
                waiting.future.set_exception(CancelledError())

    def position(self, future: "Future[Any]") -> int:
        """How many calls are ahead of this one; 0 when it is done."""
        with self._lock:
            return next((place for place, one in enumerate(self._waiting.values()) if one.future is future), 0)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)
