"""The learners' runs on one machine: who owns which, and whose KV cache gives way when memory runs short."""

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future

from inference.cost import kv_bytes
from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.jobs.worker import BusyError, Worker
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.server.owned import Owned, Run

MAX_BRANCHES = 8
GIVE_WAY_S = 0.25
"""A prefill expected to take longer is fed in chunks of about so long while others are here."""
PRESENT_S = 60.0
"""Who has stepped within so long is here."""
FIRST_CHUNK, SMALLEST_CHUNK = 256, 32
"""Tokens: before any prefill was timed, and below which chunks cost more than they give."""


class Runs(Owned):
    """Every method returns at once with a future; the work happens in the worker, one job at a time.

    `expected` is the number of steps the learner saw when they pressed: a press that arrives twice, or late,
    finds another number and does nothing.
    """

    def __init__(self, engine: Engine, worker: Worker, limits: Limits) -> None:
        super().__init__(limits.max_learners)
        self._engine, self._worker, self._limits = engine, worker, limits
        self._tokens_per_s = 0.0  # of the newest prefill

    def start(self, learner: str, recipe: Recipe) -> "Future[Run]":
        """A new run in place of the learner's old one: tokenise, check, prefill. ValueError refuses it."""
        self._limits.check(recipe)

        def job(queue_s: float) -> Run | Generator[None, None, Run]:
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
            size = self._chunk(len(generation.trace.prompt_tokens), learner)
            return (
                self._prefilled(run, learner, queue_s)
                if size == 0
                else self._in_chunks(run, learner, size, queue_s)
            )

        return self._worker.submit(job)

    def _prefilled(self, run: Run, learner: str, queue_s: float) -> Run:
        _step(run, queue_s)
        newest = run.generation.trace.steps[0]
        self._tokens_per_s = newest.num_query_tokens / newest.forward_s
        run.publish()
        self.keep(learner, run)
        return run

    def _in_chunks(self, run: Run, learner: str, size: int, queue_s: float) -> Generator[None, None, Run]:
        """The worker runs what waits between two chunks; that time is queueing too."""
        num_left, began_s, fed_s = len(run.generation.trace.prompt_tokens), time.monotonic(), 0.0
        while num_left > size:
            fed_s += run.generation.feed(size).forward_s
            num_left -= size
            yield
        return self._prefilled(run, learner, queue_s + max(time.monotonic() - began_s - fed_s, 0.0))

    def _chunk(self, num_tokens: int, learner: str) -> int:
        """Tokens that one pass of a prefill may take, so that the others wait no longer; 0 for all of them.

        Who is alone on the machine has nobody to give way to, and one pass is quicker than several.
        """
        now = time.monotonic()
        others = [run for name, run in self.newest() if name != learner and now - run.last_used_s < PRESENT_S]
        if not others and not self._worker.num_waiting:
            return 0
        expected = int(self._tokens_per_s * GIVE_WAY_S) if self._tokens_per_s else FIRST_CHUNK
        size = max(expected, SMALLEST_CHUNK)
        return size if num_tokens > size + SMALLEST_CHUNK else 0

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

    def kv_bytes_held(self) -> int:
        return sum(run.generation.kv_bytes for run in self._everyone())

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
                self._was_used(learner, run)
            return run

        return self._worker.submit(job)

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
                run.released = "for memory"


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
    run.released = ""
    token_id = recipe.forced.get(index)
    if token_id is not None:
        generation.fork(token_id)
