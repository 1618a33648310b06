"""Speculative decoding as jobs: a preset, or a learner's own prompt, decoded with speculation and without.

No torch here, so that pages may import it; `run` decodes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports, job_when_asked
from inference.speculation.draft import LOOK_UP
from inference.speculation.presets import PRESETS
from inference.speculation.records import NUM_DRAFTED, Speculated, SpeculationRequest

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

NUM_REPEATS = 3


def preset_request(
    preset: str, num_drafted: int = NUM_DRAFTED, temperature: float | None = None, draft: str = LOOK_UP
) -> SpeculationRequest:
    """The preset's own temperature where none is given."""
    chosen = PRESETS[preset]
    return SpeculationRequest(
        chosen.prompt,
        chosen.chat_template,
        chosen.max_new_tokens,
        chosen.temperature if temperature is None else temperature,
        num_drafted=num_drafted,
        draft=draft,
    )


def speculation_job(
    preset: str,
    num_drafted: int = NUM_DRAFTED,
    temperature: float | None = None,
    draft: str = LOOK_UP,
    num_repeats: int = NUM_REPEATS,
) -> Job[Speculated]:
    """A preset decoded both ways, in turn."""
    request = preset_request(preset, num_drafted, temperature, draft)
    name = f"speculation, {preset}: {request!r}, {num_repeats} repeats"
    return Job(name, Speculated, lambda engine, limits: _begin(engine, limits, request, num_repeats))


def own_job(name: str, asked: Callable[[], SpeculationRequest], num_repeats: int = NUM_REPEATS) -> Job[Speculated]:
    """A learner's own prompt, as it stands when they press."""
    return job_when_asked(
        name, Speculated, asked, lambda engine, limits, request: _begin(engine, limits, request, num_repeats)
    )


def _begin(
    engine: "Engine", limits: "Limits", request: SpeculationRequest, num_repeats: int
) -> Reports[Speculated]:
    from inference.speculation.compare import check, compare  # noqa: PLC0415  # pages must not wait for torch

    check(engine, limits, request)
    return compare(engine, request, num_repeats)
