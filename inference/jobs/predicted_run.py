"""A short run of a learner's own prompt, against which a prediction is held."""

from dataclasses import replace
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Report, Reports
from inference.run.recipe import Recipe
from inference.trace import Trace

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.generation import Generation
    from inference.jobs.limits import Limits

NUM_TOKENS = 24


def predicted_run(prompt: str) -> Job[Trace]:
    """Prefill and up to NUM_TOKENS - 1 decode passes, greedy."""
    recipe = Recipe(prompt=prompt, max_new_tokens=NUM_TOKENS)

    def begin(engine: "Engine", limits: "Limits") -> Reports[Trace]:
        from inference.generation import Generation  # noqa: PLC0415  # torch must not hold up a page

        limits.check(recipe)
        generation = Generation(engine, recipe.prompt, recipe.params, recipe.max_new_tokens)
        limits.check_tokens(generation)
        return run(generation)

    def run(generation: "Generation") -> Reports[Trace]:
        generation.prefill()
        while not generation.finished:
            done = len(generation.trace.steps)
            yield Report(done / NUM_TOKENS, _copy(generation.trace), f"token {done}")
            generation.decode()
        return _copy(generation.trace)

    return Job(f"run for a prediction: {prompt}", Trace, begin, is_kept=False)


def _copy(trace: Trace) -> Trace:
    return replace(trace, steps=list(trace.steps), key_norms=list(trace.key_norms))
