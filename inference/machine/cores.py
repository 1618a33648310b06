"""More compute for the same pass: each phase with one core of the CPU, with two, and so on, in turns."""

import statistics
from typing import TYPE_CHECKING

from inference.jobs.experiments import Job, Reports
from inference.machine.sweep_run import check, measure
from inference.machine.sweeps import Case, Setting, Sweep, SweepPoint
from inference.trace import Phase

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

PASSES: tuple[tuple[Phase, int, int, int], ...] = (
    ("decode", 1, 512, 1),
    ("prefill", 64, 64, 1),
    ("decode", 1, 128, 32),
    ("prefill", 512, 512, 1),
)
"""Phase, tokens fed to each sequence, context after the pass, batch: the quickest first."""


def core_counts(most: int) -> tuple[int, ...]:
    """1, 2, 4 and so on, and all of them."""
    powers = (2**power for power in range(most.bit_length()))
    return tuple(sorted({*(count for count in powers if count <= most), most}))


def cores_job() -> Job[Sweep]:
    """Every pass at every number of cores; those of one pass take turns."""

    def begin(engine: "Engine", limits: "Limits") -> Reports[Sweep]:
        import torch  # noqa: PLC0415  # pages must not wait for it

        if not engine.is_on_cpu:
            raise ValueError("the model runs on a GPU, whose processors cannot be taken away from here one by one")
        most = torch.get_num_threads()
        if most == 1:
            raise ValueError("the model has one core on this machine: there is no second one to compare it with")
        cases = _cases(core_counts(most))
        check(engine, limits, cases)
        return measure(engine, cases)

    return Job("more cores", Sweep, begin)


def _cases(counts: tuple[int, ...]) -> list[Case]:
    return [
        [
            Setting(
                f"{phase}, {count} cores",
                phase,
                num_query_tokens=fed,
                context_len=context_len,
                batch_size=batch_size,
                num_cores=count,
            )
            for count in counts
        ]
        for phase, fed, context_len, batch_size in PASSES
    ]


def by_pass(sweep: Sweep) -> list[list[SweepPoint]]:
    """The points of each pass, from one core up; a pass that was not timed with one core is left out."""
    found: dict[tuple[Phase, int, int], list[SweepPoint]] = {}
    for point in sweep.points:
        setting = point.setting
        found.setdefault((setting.phase, setting.context_len, setting.batch_size), []).append(point)
    return [points for points in found.values() if points[0].setting.num_cores == 1]


def gain(one: SweepPoint, more: SweepPoint) -> float:
    """How many times as fast with more cores: the median over repeats that ran next to each other."""
    pairs = zip(one.times_s, more.times_s, strict=False)
    return statistics.median(one_s / more_s for one_s, more_s in pairs)
