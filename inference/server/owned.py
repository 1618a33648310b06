"""A run as pages see it, and whose it is: the same on both sides of the line to the engine's process."""

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from inference.run.recipe import Recipe
from inference.trace import Trace

if TYPE_CHECKING:
    from inference.generation import Generation

Release = Literal["", "for memory", "when the engine stopped"]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Run:
    """One learner's live run. Only jobs of the worker change it; pages read what the last job published."""

    generation: "Generation"
    """With the KV cache; in the pages' process one that stands for it."""
    recipe: Recipe
    trace: Trace = field(init=False)
    """The run as the last job left it: its lists are never touched again."""
    branches: list[Trace] = field(default_factory=list)
    """How the run stood before each fork, newest last."""
    last_used_s: float = field(default_factory=time.monotonic)
    released: Release = ""
    """Why its cache was given up since the last step; empty if it is held."""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    """By which it is found on the other side of the line to the engine's process."""

    def __post_init__(self) -> None:
        self.publish()

    def publish(self) -> None:
        now = self.generation.trace
        self.trace = replace(now, steps=list(now.steps), key_norms=list(now.key_norms))


class Owned:
    """Who owns which run, the most recently used last; and the runs put aside, which can be brought back."""

    def __init__(self, max_learners: int) -> None:
        self._max_learners = max_learners
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._aside: OrderedDict[str, Run] = OrderedDict()

    def get(self, learner: str) -> Run | None:
        return self._runs.get(learner)

    def forget(self, learner: str) -> None:
        """Drop a learner's run, its cache with it, and the one put aside."""
        self._runs.pop(learner, None)
        self._aside.pop(learner, None)

    def put_aside(self, learner: str) -> None:
        """The learner begins anew; the run can be brought back until the next one starts."""
        run = self._runs.pop(learner, None)
        if run is not None:
            self._aside[learner] = run
            while len(self._aside) > self._max_learners:
                self._aside.popitem(last=False)

    def is_aside(self, learner: str) -> bool:
        return learner in self._aside and learner not in self._runs

    def bring_back(self, learner: str) -> None:
        """Undo put_aside."""
        if self.is_aside(learner):
            self.keep(learner, self._aside.pop(learner))

    def newest(self) -> list[tuple[str, Run]]:
        """Everybody's runs by learner, the most recently used first."""
        return list(self._runs.items())[::-1]

    def keep(self, learner: str, run: Run) -> None:
        """In place of the learner's older run; the one unused for longest gives way if there are too many."""
        self._runs.pop(learner, None)
        self._aside.pop(learner, None)
        while len(self._runs) >= self._max_learners:
            self._runs.popitem(last=False)
        self._runs[learner] = run

    def find(self, name: str) -> Run | None:
        return next((run for run in self._everyone() if run.name == name), None)

    def adopt(self, learner: str, run: Run, *, is_aside: bool) -> None:
        """Take in a run that another process held."""
        self.keep(learner, run)
        if is_aside:
            self.put_aside(learner)

    def _was_used(self, learner: str, run: Run) -> None:
        run.last_used_s = time.monotonic()
        if self._runs.get(learner) is run:  # another tab may have reset it meanwhile
            self._runs.move_to_end(learner)

    def _everyone(self) -> list[Run]:
        return [*list(self._aside.values()), *list(self._runs.values())]
