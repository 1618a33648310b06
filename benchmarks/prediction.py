"""How far the estimate is from the measured sweeps, and how long the default sweeps take.

Every round measures the roofs and then the three default sweeps; the errors of a round compare the two.
"""

import statistics
import time

from benchmarks.measurement import Measurement
from benchmarks.models import default_engine
from inference.arithmetic.roofline import Ceilings
from inference.engine import Engine
from inference.jobs.drive import Drive, drained
from inference.jobs.experiments import Job
from inference.jobs.limits import Limits
from inference.machine.ceilings import measure
from inference.machine.sweep_jobs import batch_job, context_job, prompt_job
from inference.machine.sweeps import Sweep, SweepPoint
from inference.trace import Phase

_ROUNDS = 3


def run() -> list[Measurement]:
    engine = default_engine()
    errors: dict[Phase, list[list[float]]] = {"prefill": [], "decode": []}
    took_s, first_s = [], []
    for _ in range(_ROUNDS):
        ceilings, _ = drained(measure(engine))
        sweeps = [swept(engine, job) for job in (prompt_job(), context_job(), batch_job())]
        took_s.append(sum(whole for _, whole, _ in sweeps))
        first_s.append(max(first for _, _, first in sweeps))
        points = [point for sweep, _, _ in sweeps for point in sweep.points]
        for phase, found in errors.items():
            found.append([_error(engine, ceilings, point) for point in points if point.setting.phase == phase])
    rows = []
    for phase, found in errors.items():
        medians, worsts = [statistics.median(one) for one in found], [max(one) for one in found]
        rows.append(_row(f"estimate of {phase}, median error", medians, 0.2))
        rows.append(_row(f"estimate of {phase}, worst error", worsts, 0.4))
    rows.append(Measurement("three default sweeps", statistics.median(took_s), "s", limit=90))
    rows.append(Measurement("first point of a sweep", statistics.median(first_s), "s", limit=3))
    return rows


def _row(name: str, rounds: list[float], limit: float) -> Measurement:
    detail = {f"round {number}": value for number, value in enumerate(rounds, 1)}
    return Measurement(name, statistics.median(rounds), limit=limit, detail=detail)


def swept(engine: Engine, job: Job[Sweep]) -> tuple[Sweep, float, float]:
    """The sweep, the seconds it took, and those to its first point."""
    start, first_s = time.perf_counter(), 0.0
    drive = Drive(job.begin(engine, Limits()))
    for report in drive:
        if not first_s and report.partial is not None and report.partial.points:
            first_s = time.perf_counter() - start
    return drive.result, time.perf_counter() - start, first_s


def _error(engine: Engine, ceilings: Ceilings, point: SweepPoint) -> float:
    """|measured / estimated - 1|."""
    return abs(point.median_s / point.setting.estimate(engine.spec, ceilings).total_s - 1)
