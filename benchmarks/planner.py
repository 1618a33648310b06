"""How far off the planner is: against this machine's own sweeps and the published rows held back; a ranking's time.

Every round measures the roofs and then the sweeps; the shares of a round come from its roofs alone.
"""

import statistics
import time
from collections.abc import Callable

from benchmarks.measurement import Measurement
from benchmarks.models import default_engine
from benchmarks.prediction import swept
from inference import catalogue
from inference.jobs.drive import drained
from inference.jobs.experiments import Job
from inference.machine.ceilings import measure
from inference.machine.sweep_jobs import batch_job, context_job, prompt_job
from inference.machine.sweeps import Sweep
from inference.planner.deployment import Deployment, Workload
from inference.planner.own.machine import OwnPoint, held_against, median_error
from inference.planner.published.error import select, summary
from inference.planner.ranking import rank

_ROUNDS, _REPEATS = 3, 9
_SWEEPS: dict[str, Callable[[], Job[Sweep]]] = {
    "prompt length": prompt_job,
    "context length": context_job,
    "batch size": batch_job,
}
_WORKLOADS = (Workload(2048, 500), Workload(2048, 500, 64), Workload(2048, 16, 1024))


def run() -> list[Measurement]:
    return [*_own_sweeps(), *_held_back(), _ranking()]


def _own_sweeps() -> list[Measurement]:
    engine = default_engine()
    is_overlapped = engine.device.type != "cpu"
    errors: dict[str, list[float]] = {name: [] for name in _SWEEPS}
    worst: dict[str, float] = dict.fromkeys(_SWEEPS, 0.0)
    for _ in range(_ROUNDS):
        ceilings, _ = drained(measure(engine))
        for name, job in _SWEEPS.items():
            points = swept(engine, job())[0].points
            found = held_against(engine.spec, ceilings, points, is_overlapped=is_overlapped)
            errors[name].append(_error(found))
            worst[name] = max(worst[name], *(one.error for one in found))
    return [
        Measurement(
            f"planner against own sweep of {name}, median error",
            statistics.median(found),
            limit=0.25,
            detail={f"round {number}": value for number, value in enumerate(found, 1)} | {"worst": worst[name]},
        )
        for name, found in errors.items()
    ]


def _error(found: tuple[OwnPoint, ...]) -> float:
    return median_error(found, found[0].setting.phase)


def _held_back() -> list[Measurement]:
    """Of the published rows that no share was fitted to."""
    decode = summary(select("decode", is_held_back=True, batch_size=1))
    prefill = summary(select("prefill", is_held_back=True))
    where = "published rows held back"
    return [
        Measurement(
            f"{where}: decode of one sequence, median error",
            decode.median,
            limit=0.10,
            detail={"rows": decode.count, "worst": decode.worst.error, "worst row": decode.worst.run.id},
        ),
        Measurement(f"{where}: decode of one sequence, within 30 %", decode.within_30, least=0.90),
        Measurement(
            f"{where}: prefill, median error",
            prefill.median,
            limit=0.18,
            detail={"rows": prefill.count, "worst": prefill.worst.error, "worst row": prefill.worst.run.id},
        ),
    ]


def _ranking() -> Measurement:
    """Every machine for one case; of all catalogued models and three workloads, the slowest."""
    machines = catalogue.hardware().values()
    slowest_ms, which = 0.0, ""
    for spec in catalogue.models().values():
        for work in _WORKLOADS:
            if work.prompt_tokens + work.output_tokens > spec.max_context:
                continue
            times_ms = []
            for _ in range(_REPEATS):
                start = time.perf_counter()
                rank(spec, work, Deployment(), machines)
                times_ms.append((time.perf_counter() - start) * 1e3)
            if (median_ms := statistics.median(times_ms)) > slowest_ms:
                slowest_ms, which = median_ms, f"{spec.id}, {work.concurrency:,} conversations"
    return Measurement("full ranking, slowest case", slowest_ms, "ms", limit=100, detail={"case": which})
