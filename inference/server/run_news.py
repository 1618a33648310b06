"""News of a run for the other process: what it has already is left out, as a run of 1,000 steps is megabytes."""

import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from weakref import WeakKeyDictionary

from inference.server.messages import RunNews
from inference.server.owned import Run
from inference.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class _Sent:
    steps: Sequence[Step] = ()
    norms: "Sequence[array[float]]" = ()
    branches: Sequence[Trace] = ()


class RunTeller:
    """Remembers what the other side has of each run. Used as a lock while news are made and sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: WeakKeyDictionary[Run, _Sent] = WeakKeyDictionary()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def has_told(self, run: Run) -> None:
        """The other side has the run as it stands."""
        self._sent[run] = _Sent(run.trace.steps, run.trace.key_norms, run.branches)

    def news(self, run: Run) -> RunNews:
        sent, trace, branches = self._sent.get(run, _Sent()), run.trace, run.branches
        num_kept_steps = _num_same(sent.steps, trace.steps)
        num_kept_norms = _num_same(sent.norms, trace.key_norms)
        self._sent[run] = _Sent(trace.steps, trace.key_norms, branches)
        return RunNews(
            name=run.name,
            recipe=run.recipe,
            head=replace(trace, steps=[], key_norms=[]),
            num_kept_steps=num_kept_steps,
            steps=trace.steps[num_kept_steps:],
            num_kept_norms=num_kept_norms,
            norms=trace.key_norms[num_kept_norms:],
            branches=None if branches is sent.branches else branches,
            released=run.released,
        )


def with_news(trace: Trace | None, news: RunNews) -> Trace:
    """The other side's run, from what that side had."""
    steps = trace.steps[: news.num_kept_steps] if trace else []
    norms = trace.key_norms[: news.num_kept_norms] if trace else []
    return replace(news.head, steps=[*steps, *news.steps], key_norms=[*norms, *news.norms])


def _num_same(old: Sequence[object], new: Sequence[object]) -> int:
    """How many of the first are the same objects: what a trace holds is never changed."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(old, new, strict=False)))
