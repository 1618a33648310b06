"""The learners' runs on one machine: who owns which, and whose KV cache gives way when memory runs short."""

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from inference.cost import kv_bytes
from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.jobs.worker import BusyError, Worker
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.trace import Trace


@dataclass(slots=True, eq=False)
class Run:
    """One learner's live run. Only jobs of the worker change it; pages read what the last job published."""

    generation: Generation
    recipe: Recipe
    trace: Trace = field(init=False)
    """The run as the last job left it: its lists are never touched again."""
    branches: list[Trace] = field(default_factory=list)
    """How the run stood before each fork, newest last."""
    last_used_s: float = field(default_factory=time.monotonic)
    was_released: bool = False
    """Its cache was given up for memory since the last step."""

    def __post_init__(self) -> None:
        self.publish()

    def publish(self) -> None:
        now = self.generation.trace
        self.trace = replace(now, steps=list(now.steps), key_norms=list(now.key_norms))


MAX_BRANCHES = 8


class Runs:
    """Every method returns at once with a future; the work happens in the worker, one job at a time.

    `expected` is the number of steps the learner saw when they pressed: a press that arrives twice, or late,
    finds another number and does nothing.
    """

    def __init__(self, engine: Engine, worker: Worker, limits: Limits) -> None:
        self._engine, self._worker, self._limits = engine, worker, limits
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._aside: OrderedDict[str, Run] = OrderedDict()

    def get(self, learner: str) -> Run | None:
        return self._runs.get(learner)

    def start(self, learner: str, recipe: Recipe) -> "Future[Run]":
        """A new run in place of the learner's old one: tokenise, check, prefill. ValueError refuses it."""
        self._limits.check(recipe)

        def job(queue_s: float) -> Run:
            generation = Generation(
                self._engine,
                recipe.prompt,
                recipe.params,
                recipe.max_new_tokens,
                chat_template=recipe.chat_template,
                stop=recipe.stop,
            )
            self._limits.check_tokens(generation)
            self._engine.check_tokens(recipe.forced.values())
            for _, params in recipe.changes:
                params.check_vocabulary(self._engine.spec.vocab_size)
            self._make_room(None, kv_bytes(self._engine.spec, context_len=len(generation.trace.prompt_tokens)))
            run = Run(generation, recipe)
            _step(run, queue_s)
            run.publish()
            self._keep(learner, run)
            return run

        return self._worker.submit(job)

    def advance(self, learner: str, expected: int, *, params: SamplingParams | None = None) -> "Future[Run]":
        """One decode pass; with `params`, sampled under new settings from here on."""

        def job(run: Run, queue_s: float) -> None:
            if run.generation.finished:
                return
            if params is not None:
                run.recipe = Recipe.of(run.trace)  # the rest of a link's recipe gives way to the learner
                run.generation.set_params(params)
            _step(run, queue_s)

        return self._submit(learner, expected, job)

    def branch(
        self,
        learner: str,
        expected: int,
        *,
        index: int,
        token_id: int | None = None,
        params: SamplingParams | None = None,
    ) -> "Future[Run]":
        """Go back to step `index` and on from there: with another token, other settings, or both.

        The run as it stood is kept as a branch. Only a change of settings is followed by a pass.
        """

        def job(run: Run, queue_s: float) -> None:
            before = run.trace
            run.generation.rewind(index)
            run.branches = [*run.branches, before][-MAX_BRANCHES:]
            run.recipe = Recipe.of(run.generation.trace)
            if params is not None:
                run.generation.set_params(params)
            if token_id is not None:
                run.generation.fork(token_id)
            elif not run.generation.finished:
                _step(run, queue_s)

        return self._submit(learner, expected, job)

    def forget(self, learner: str) -> None:
        """Drop a learner's run, its cache with it, and the one put aside."""
        self._runs.pop(learner, None)
        self._aside.pop(learner, None)

    def put_aside(self, learner: str) -> None:
        """The learner begins anew; the run can be brought back until the next one starts."""
        run = self._runs.pop(learner, None)
        if run is not None:
            self._aside[learner] = run
            while len(self._aside) > self._limits.max_learners:
                self._aside.popitem(last=False)

    def is_aside(self, learner: str) -> bool:
        return learner in self._aside and learner not in self._runs

    def bring_back(self, learner: str) -> None:
        """Undo put_aside."""
        if self.is_aside(learner):
            self._keep(learner, self._aside.pop(learner))

    def newest(self) -> list[tuple[str, Run]]:
        """Everybody's runs by learner, the most recently used first."""
        return list(self._runs.items())[::-1]

    def kv_bytes_held(self) -> int:
        return sum(run.generation.kv_bytes for run in self._everyone())

    def _everyone(self) -> list[Run]:
        return [*list(self._aside.values()), *list(self._runs.values())]

    def _submit(self, learner: str, expected: int, change: Callable[[Run, float], None]) -> "Future[Run]":
        run = self._runs.get(learner)
        if run is None:
            raise BusyError("this run is no longer on the server; press Prefill to run the prompt again")

        def job(queue_s: float) -> Run:
            is_current = self._runs.get(learner) is run  # reset or started anew while this job waited
            if is_current and len(run.trace.steps) == expected:
                growth = kv_bytes(self._engine.spec, context_len=run.trace.steps[-1].context_len + 1)
                self._make_room(run, growth - run.generation.kv_bytes)
                try:
                    change(run, queue_s)
                finally:
                    run.publish()
                run.last_used_s = time.monotonic()
                if self._runs.get(learner) is run:  # another tab may have reset it meanwhile
                    self._runs.move_to_end(learner)
            return run

        return self._worker.submit(job)

    def _keep(self, learner: str, run: Run) -> None:
        self._runs.pop(learner, None)
        self._aside.pop(learner, None)
        while len(self._runs) >= self._limits.max_learners:
            self._runs.popitem(last=False)
        self._runs[learner] = run

    def _make_room(self, current: Run | None, needed: float) -> None:
        """Take caches back: from the long idle always, then until `needed` fits.

        First from runs put aside, then from the least recently used.
        """
        now, live = time.monotonic(), set(map(id, list(self._runs.values())))
        kv_bytes_held = self.kv_bytes_held()  # summed once: it asks every layer of every run
        others = [run for run in self._everyone() if run is not current]
        for run in sorted(others, key=lambda run: (id(run) in live, run.last_used_s)):
            is_long_idle = now - run.last_used_s > self._limits.idle_s
            is_short = kv_bytes_held + needed > self._limits.kv_bytes_total
            if run.generation.num_cached and (is_long_idle or is_short):
                kv_bytes_held -= run.generation.kv_bytes
                run.generation.release_cache()
                run.was_released = True


def _step(run: Run, queue_s: float) -> None:
    """One pass, and then whatever the recipe says the learner did at that step."""
    generation, recipe = run.generation, run.recipe
    index = len(generation.trace.steps)
    for at, params in recipe.changes:
        if at == index:
            generation.set_params(params)
    if index == 0:
        generation.prefill(queue_s=queue_s)
    else:
        generation.decode(queue_s=queue_s)
    run.was_released = False
    token_id = recipe.forced.get(index)
    if token_id is not None:
        generation.fork(token_id)
