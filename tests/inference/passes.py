"""What a test needs to watch or disturb the model's real forward passes."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from inference.batching.records import ServedPlan
from inference.engine import Engine
from inference.generation import Generation
from inference.trace import Step


@contextmanager
def counted(engine: Engine) -> Iterator[list[int]]:
    """A list that grows by the number of tokens fed, once per real pass."""
    passes: list[int] = []

    def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        passes.append(int(kwargs["input_ids"].shape[1]))

    handle = engine.model.register_forward_hook(hook, with_kwargs=True)
    try:
        yield passes
    finally:
        handle.remove()


@contextmanager
def failing_once(module: Any, error: Exception) -> Iterator[None]:
    """The next call of this module raises; later ones work."""

    def hook(module: Any, args: Any) -> None:
        handle.remove()
        raise error

    handle = module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def advance(generation: Generation, num_steps: int) -> list[Step]:
    """Take up to `num_steps` steps, prefill first if none was taken; returns all steps of the run."""
    for _ in range(num_steps):
        if generation.finished:
            break
        _ = generation.decode() if generation.trace.steps else generation.prefill()
    return list(generation.trace.steps)


def token_ids(generation: Generation) -> list[int]:
    """The output's."""
    return [step.token_id for step in generation.trace.steps]


def outputs(served: ServedPlan) -> tuple[tuple[int, ...], ...]:
    """The token ids that each request generated."""
    generated: list[list[int]] = [[] for _ in served.plan.arrivals]
    for share in chain.from_iterable(each.shares for each in served.passes):
        if share.token_id is not None:
            generated[share.request].append(share.token_id)
    return tuple(map(tuple, generated))
