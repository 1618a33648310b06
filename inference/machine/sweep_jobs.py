"""The sweeps the labs measure, as jobs: prompt length, context length, batch size."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports
from inference.machine.sweep_run import check, measure
from inference.machine.sweeps import Case, Setting, Sweep

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

PROMPT_LENGTHS = (1, 4, 16, 64, 128, 256, 512, 1024, 2048)
CONTEXT_LENGTHS = (16, 128, 256, 512, 1024, 2048)
BATCH_SIZES = (1, 2, 4, 8, 16, 32)
BATCH_CONTEXT = 128


def prefill(num_tokens: int) -> Setting:
    return Setting("prefill", "prefill", num_query_tokens=num_tokens, context_len=num_tokens)


def decode(context_len: int, batch_size: int = 1) -> Setting:
    return Setting("decode", "decode", num_query_tokens=1, context_len=context_len, batch_size=batch_size)


def prompt_job(lengths: Sequence[int] = PROMPT_LENGTHS) -> Job[Sweep]:
    """Prefill at each prompt length; the default ones as far as the model's context reaches."""
    return sweep_job("prefill by prompt length", lengths, prefill, lengths == PROMPT_LENGTHS)


def context_job(lengths: Sequence[int] = CONTEXT_LENGTHS) -> Job[Sweep]:
    """A decode step at each length of the KV cache; the default ones as far as the model's context reaches."""
    return sweep_job("decode by context length", lengths, decode, lengths == CONTEXT_LENGTHS)


def batch_job(sizes: Sequence[int] = BATCH_SIZES, context_len: int = BATCH_CONTEXT) -> Job[Sweep]:
    """A decode step at each batch size."""
    return sweep_job(
        f"decode by batch at {context_len}", sizes, lambda size: decode(context_len, size), is_default=False
    )


def sweep_job(name: str, values: Sequence[int], setting: Callable[[int], Setting], is_default: bool) -> Job[Sweep]:
    def cases(engine: "Engine") -> list[Case]:
        every = [[setting(value)] for value in sorted(values)]
        if not is_default:
            return list(every)
        return [case for case in every if case[0].context_len <= engine.spec.max_context]

    def begin(engine: "Engine", limits: "Limits") -> Reports[Sweep]:
        check(engine, limits, cases(engine))
        return measure(engine, cases(engine))

    return Job(f"{name}: {', '.join(map(str, values))}", Sweep, begin)
