"""Requests served by two processes in both arrangements, as a job: what is refused before any work."""

import shutil
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inference.cost import kv_bytes
from inference.disaggregation.records import MOST_REQUESTS, ArrangementComparison, ClientRequest
from inference.jobs.experiments import Job, Reports

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits


def check(asks: Sequence[ClientRequest], max_context: int) -> None:
    """Refuse requests that cannot be served, before any work."""
    if not 1 <= len(asks) <= MOST_REQUESTS:
        raise ValueError(f"there must be 1 to {MOST_REQUESTS} requests, got {len(asks)}")
    for number, ask in enumerate(asks, 1):
        if ask.arrival_s < 0:
            raise ValueError(f"request {number} arrives at {ask.arrival_s:g} s; the start is 0, choose 0 or later")
        if ask.prompt_tokens < 1 or ask.output_tokens < 1:
            raise ValueError(
                f"request {number} has {ask.prompt_tokens} prompt and {ask.output_tokens} output tokens; "
                "give it 1 or more of each"
            )
        if ask.prompt_tokens + ask.output_tokens > max_context:
            raise ValueError(
                f"request {number} needs {ask.prompt_tokens + ask.output_tokens:,} tokens; the model's context "
                f"ends at {max_context:,}: shorten its prompt or its output"
            )


def comparison_job(asks: Sequence[ClientRequest]) -> Job[ArrangementComparison]:
    """Serve these requests both ways, one after the other, on the same two processes."""

    def begin(engine: "Engine", limits: "Limits") -> Reports[ArrangementComparison]:
        from inference.disaggregation.run import compare  # noqa: PLC0415  # pages import this module: no torch

        check(asks, engine.spec.max_context)
        if any(engine.spec.layer_windows):
            raise ValueError(
                f"{engine.spec.name} has layers with a sliding window; caches of different lengths are put side by "
                "side here, which needs full attention: choose another model"
            )
        caches = (kv_bytes(engine.spec, context_len=ask.prompt_tokens + ask.output_tokens - 1) for ask in asks)
        limits.check_kv(sum(caches), "The KV caches of these requests")
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if engine.spec.weight_bytes > free:
            raise ValueError(
                f"the weights are shared through {engine.spec.weight_bytes / 1e9:,.1f} GB of files, and {folder} "
                f"has {free / 1e9:,.1f} GB free; make room there or set TMPDIR to another folder"
            )
        return compare(engine, tuple(asks))

    named = "; ".join(f"{ask.arrival_s:g} {ask.prompt_tokens} {ask.output_tokens}" for ask in asks)
    return Job(f"disaggregation: {named}", ArrangementComparison, begin)
