"""A constrained generation as a job: what a learner asks for is checked, tried out and then generated."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports, job_when_asked
from inference.structure.records import StructuredRequest, StructuredRun

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits


def structured_job(name: str, asked: Callable[[], StructuredRequest]) -> Job[StructuredRun]:
    """Generate what is asked for at the moment of starting: text that a learner sends with the click is in it.

    The prompt goes into the model's chat template where it has one.
    """

    def begin(engine: "Engine", limits: "Limits", request: StructuredRequest) -> Reports[StructuredRun]:
        from inference.structure.compiling import try_out  # noqa: PLC0415
        from inference.structure.given import check  # noqa: PLC0415
        from inference.structure.grammar import Matcher  # noqa: PLC0415  # torch loads in the background
        from inference.structure.run import generate, generation_of  # noqa: PLC0415

        check(request.constraint)
        limits.check(request.recipe)
        limits.check_tokens(generation_of(engine, request.recipe))
        try_out(request.constraint)
        matcher = Matcher(engine, request.constraint)  # here, and not in the worker: no step waits for it
        return generate(engine, request, matcher if request.is_masked else None)

    return job_when_asked(name, StructuredRun, asked, begin)
