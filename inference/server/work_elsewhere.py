"""A measurement that runs in the engine's process, as a generator here: reports as they come, then the result."""

import queue
from collections.abc import Callable, Generator
from typing import Any

from inference.jobs.experiments import Job, Report, Reports
from inference.server.calls import Calls
from inference.server.messages import Begin, Cancel, Go, Reply

_LOOK_S = 0.02  # one thread looks after all of them


class WorkElsewhere(Generator[Report[Any], None, Any]):
    """Begun there, and run once somebody asks for a first report. Closed, it is cancelled there."""

    def __init__(self, number: int, send: Callable[[Any], None]) -> None:
        self.number, self._send = number, send
        self.news: queue.SimpleQueue[Report[Any] | Reply] = queue.SimpleQueue()
        self._newest: Report[Any] = Report(0.0)
        self._has_gone = self._has_ended = False

    def send(self, _value: None) -> Report[Any]:
        if not self._has_gone:
            self._has_gone = True
            self._send(Go(self.number))
        try:
            news = self.news.get(timeout=_LOOK_S)
        except queue.Empty:
            return self._newest
        if isinstance(news, Report):
            self._newest = news
            return news
        self._has_ended = True
        if news.error is not None:
            raise news.error
        raise StopIteration(news.value)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Report[Any]:
        self.close()
        raise kind if value is None else value

    def close(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._send(Cancel(self.number))


class Works:
    """All that run or could begin to."""

    def __init__(self, calls: Calls, send: Callable[[Any], None], refuse_if_away: Callable[[], None]) -> None:
        self._calls, self._send, self._refuse_if_away = calls, send, refuse_if_away
        self._works: dict[int, WorkElsewhere] = {}

    def begin(self, job: Job[Any]) -> Reports[Any]:
        """Have it looked at where the model is. ValueError refuses it."""
        self._refuse_if_away()
        number = self._calls.new_number()
        work = WorkElsewhere(number, self._send)
        self._works[number] = work
        try:
            self._calls.add(Begin(number, job), lambda answer, _: None).result()
        except BaseException:
            self._works.pop(number, None)
            raise
        return work

    def told(self, number: int, report: Report[Any]) -> None:
        if work := self._works.get(number):
            work.news.put(report)

    def answered(self, answer: Reply) -> bool:
        """Whether it was the end of one of these."""
        work = self._works.pop(answer.number, None)
        if work is not None:
            work.news.put(answer)
        return work is not None

    def lost(self, why: str) -> None:
        for number in list(self._works):
            self.answered(Reply(number, error=RuntimeError(f"{why} during this measurement; measure again")))
