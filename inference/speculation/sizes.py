"""The same text with more and more drafts a round: what the formula expects, what came, and what each pass cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inference.jobs.drive import Drive
from inference.jobs.experiments import Job, Report, Reports
from inference.speculation.draft import LOOK_UP
from inference.speculation.jobs import preset_request
from inference.speculation.records import Speculated

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

SIZES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class BySize:
    runs: tuple[Speculated, ...]
    """One for each number of drafts a round, each with its own plain decoding, in turn."""


def sizes_job(
    preset: str = "copy",
    temperature: float | None = None,
    draft: str = LOOK_UP,
    sizes: Sequence[int] = SIZES,
    num_repeats: int = 1,
) -> Job[BySize]:
    """A preset decoded with each number of drafts."""
    request = preset_request(preset, temperature=temperature, draft=draft)
    requests = [replace(request, num_drafted=size) for size in sizes]

    def begin(engine: "Engine", limits: "Limits") -> Reports[BySize]:
        from inference.speculation.compare import check  # noqa: PLC0415  # pages must not wait for torch

        for request in requests:
            check(engine, limits, request)
        return run(engine)

    def run(engine: "Engine") -> Reports[BySize]:
        from inference.speculation.compare import compare  # noqa: PLC0415

        done: tuple[Speculated, ...] = ()
        for place, request in enumerate(requests):
            drive = Drive(compare(engine, request, num_repeats))
            for report in drive:
                known = (*done, report.partial) if report.partial else done
                yield Report(
                    (place + report.fraction) / len(requests),
                    BySize(known) if known else None,
                    f"{request.num_drafted} drafts a round",
                )
            done = (*done, drive.result)
        return BySize(done)

    return Job(f"speculation by size: {list(sizes)}, {request!r}, {num_repeats} repeats", BySize, begin)
