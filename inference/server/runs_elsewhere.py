"""The learners' runs as the pages have them: all but the KV caches, which are in the engine's process."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from inference.jobs.limits import Limits
from inference.jobs.worker import BusyError
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.server.calls import Calls
from inference.server.messages import Reply, Restore, RunNews
from inference.server.owned import Owned, Run
from inference.server.run_news import with_news
from inference.trace import Trace

if TYPE_CHECKING:
    from inference.generation import Generation
    from inference.server.laboratory import Laboratory
    from inference.server.runs import Runs


class GenerationElsewhere:
    """Stands for a live generation: sent to the engine's process, it arrives as that one."""

    def __init__(self, name: str, trace: Trace) -> None:
        self.name, self.trace = name, trace


def name_of(thing: Any) -> object:
    """How a thing is named instead of sent; None if it is sent."""
    return thing.name if type(thing) is GenerationElsewhere else None


class RunsElsewhere(Owned):
    """The face of `Runs`. What is said here of a run is what the engine last told of it."""

    def __init__(self, calls: Calls, limits: Limits) -> None:
        super().__init__(limits.max_learners)
        self._calls, self._limits = calls, limits

    def start(self, learner: str, recipe: Recipe) -> "Future[Run]":
        self._limits.check(recipe)
        return self._ask(lambda runs: runs.start(learner, recipe), take_in=partial(self._started, learner))

    def advance(self, learner: str, expected: int, *, params: SamplingParams | None = None) -> "Future[Run]":
        return self._go_on(learner, lambda runs: runs.advance(learner, expected, params=params))

    def branch(
        self,
        learner: str,
        expected: int,
        *,
        index: int,
        token_id: int | None = None,
        params: SamplingParams | None = None,
    ) -> "Future[Run]":
        return self._go_on(
            learner, lambda runs: runs.branch(learner, expected, index=index, token_id=token_id, params=params)
        )

    def forget(self, learner: str) -> None:
        super().forget(learner)
        self._tell(lambda runs: runs.forget(learner))

    def put_aside(self, learner: str) -> None:
        super().put_aside(learner)
        self._tell(lambda runs: runs.put_aside(learner))

    def bring_back(self, learner: str) -> None:
        super().bring_back(learner)
        self._tell(lambda runs: runs.bring_back(learner))

    def lost(self, name: str = "") -> list[Restore]:
        """What a process that does not hold this run, or any run, has to be told."""
        everyone = [(learner, run, True) for learner, run in list(self._aside.items())]
        everyone += [(learner, run, False) for learner, run in list(self._runs.items())]
        return [
            Restore(learner, run.name, run.recipe, run.trace, run.branches, is_aside)
            for learner, run, is_aside in everyone
            if name in ("", run.name)
        ]

    def were_released(self) -> None:
        """The process that held the caches has ended."""
        for run in self._everyone():
            run.released = "when the engine stopped"

    def _ask(
        self,
        do: "Callable[[Runs], object]",
        *,
        run: str = "",
        take_in: Callable[[Reply, bool], Any] = lambda answer, _: answer.value,
    ) -> "Future[Any]":
        return self._calls.ask(partial(_with_runs, do), run=run, take_in=take_in)

    def _tell(self, do: "Callable[[Runs], object]") -> None:
        self._calls.tell(partial(_with_runs, do))

    def _go_on(self, learner: str, do: "Callable[[Runs], object]") -> "Future[Run]":
        run = self.get(learner)
        if run is None:
            raise BusyError("this run is no longer on the server; press Prefill to run the prompt again")
        return self._ask(do, run=run.name, take_in=partial(self._went_on, learner, run))

    def _started(self, learner: str, answer: Reply, is_wanted: bool) -> Run | None:
        news = answer.news
        if news is None:
            return None
        if not is_wanted:  # taken back too late: the engine has run it
            self._tell(lambda runs: runs.forget(learner))
            return None
        trace = with_news(None, news)
        run = Run(cast("Generation", GenerationElsewhere(news.name, trace)), news.recipe, name=news.name)
        _heed(run, news)
        super().keep(learner, run)
        return run

    def _went_on(self, learner: str, run: Run, answer: Reply, _is_wanted: bool) -> Run:
        if answer.news is not None:
            run.generation.trace = with_news(run.trace, answer.news)
            _heed(run, answer.news)
            self._was_used(learner, run)
        return run


def _heed(run: Run, news: RunNews) -> None:
    run.recipe, run.released = news.recipe, news.released
    if news.branches is not None:
        run.branches = news.branches
    run.publish()


def _with_runs(do: "Callable[[Runs], object]", laboratory: "Laboratory") -> object:
    assert laboratory.runs is not None, "the engine answers only when it is loaded"
    return do(laboratory.runs)
