"""What each optimisation gains on its default preset, and on the one in which it loses: both sides in one run.

Above 1 it gains. Where it has a price in the same run, the price stands beside it.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.measurement import Measurement
from benchmarks.models import default_engine
from inference.arithmetic.metrics import Request, itl_s, percentile, tps_total, ttft_s
from inference.batching import presets as requests_of
from inference.batching.lanes import requests_seen
from inference.batching.records import ServedPlan
from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import PRESETS as ARRIVALS
from inference.disaggregation.records import Arrangement, ArrangementComparison, scenario
from inference.disaggregation.records import requests as clients
from inference.jobs.drive import drained
from inference.jobs.experiments import Job
from inference.jobs.limits import Limits
from inference.prefix_caching import pair as prefix_pair
from inference.speculation.jobs import speculation_job
from inference.speculation.presets import PRESETS as TEXTS

T = TypeVar("T")
_REPEATS = 3


def run() -> list[Measurement]:
    took_s: list[float] = []
    rows = [
        *_batching("mixed outputs", requests_of.MIXED, took_s, least=1.3),
        *_batching("equal outputs (loses)", requests_of.EQUAL, took_s),
        *_chunks("long prompt", requests_of.LONG_PROMPT, took_s),
        *_chunks("short prompt (loses)", requests_of.SHORT_PROMPT, took_s),
        *(_speculation(preset, took_s, least=1.5 if preset == "copy" else None) for preset in TEXTS),
        _prefix("800 shared tokens", prefix_pair.WINS, took_s, least=5.0),
        _prefix("one changed early (loses)", prefix_pair.LOSES, took_s),
        *_split("long prompts among streams", ARRIVALS[0], took_s),
        *_split("burst of prompts (loses)", ARRIVALS[2], took_s),
    ]
    return [*rows, Measurement("optimisations, longest experiment", max(took_s), "s", limit=60)]


def _done(job: Job[T], took_s: list[float]) -> T:
    start = time.perf_counter()
    result, _ = drained(job.begin(default_engine(), Limits()))
    took_s.append(time.perf_counter() - start)
    return result


def _row(name: str, ratios: Sequence[float], least: float | None = None) -> Measurement:
    spread: dict[str, float | str] = {"least": min(ratios), "most": max(ratios), "num_runs": len(ratios)}
    return Measurement(name, statistics.median(ratios), least=least, detail=spread)


def _batching(name: str, preset: str, took_s: list[float], least: float | None = None) -> list[Measurement]:
    found = [_done(requests_of.batching_job(requests_of.PRESETS[preset]), took_s) for _ in range(_REPEATS)]
    rates = [one.arms[1].tokens_per_s / one.arms[0].tokens_per_s for one in found]
    static, continuous = found[0].arms
    return [
        _row(f"continuous / static batching, tokens/s, {name}", rates, least),
        Measurement(f"static / continuous batching, passes, {name}", len(static.passes) / len(continuous.passes)),
    ]


def _chunks(name: str, preset: str, took_s: list[float]) -> list[Measurement]:
    job = requests_of.chunked_job(requests_of.NEWCOMERS[preset])
    found = [_done(job, took_s).arms for _ in range(_REPEATS)]
    return [
        _row(f"chunked prefill, longest ITL whole / chunked, {name}", [_over(_stall, *arms) for arms in found]),
        _row(f"chunked prefill, TTFT whole / chunked, {name}", [_over(_newcomer, *arms) for arms in found]),
    ]


def _over(value: Callable[[ServedPlan], float], above: ServedPlan, below: ServedPlan) -> float:
    return value(above) / value(below)


def _stall(arm: ServedPlan) -> float:
    """The longest gap of the streams that run while the newcomer arrives."""
    return max(gap for one in requests_seen(arm)[:-1] if one for gap in itl_s(one))


def _newcomer(arm: ServedPlan) -> float:
    last = requests_seen(arm)[-1]
    assert last is not None
    return ttft_s(last)


def _speculation(preset: str, took_s: list[float], least: float | None) -> Measurement:
    found = _done(speculation_job(preset), took_s)
    return _row(f"speculation by look-up / plain, {TEXTS[preset].title.lower()}", found.gains, least)


def _prefix(name: str, preset: str, took_s: list[float], least: float | None = None) -> Measurement:
    found = _done(prefix_pair.pair_job(prefix_pair.PRESETS[preset]), took_s)
    ratios = [cold.ttft_s / warm.ttft_s for cold, warm in zip(found.cold, found.warm, strict=True)]
    return _row(f"prefix cache, TTFT cold / warm, {name}", ratios, least)


def _split(name: str, preset: str, took_s: list[float]) -> list[Measurement]:
    found = [_done(comparison_job(scenario(preset)), took_s) for _ in range(_REPEATS)]
    tails = [_p99(one, "colocated") / _p99(one, "disaggregated") for one in found]
    firsts = [_longest_ttft(one, "colocated") / _longest_ttft(one, "disaggregated") for one in found]
    rates = [_rate(one, "disaggregated") / _rate(one, "colocated") for one in found]
    return [
        _row(f"disaggregation, ITL p99 colocated / apart, {name}", tails),
        _row(f"disaggregation, longest TTFT colocated / apart, {name}", firsts),
        _row(f"disaggregation, tokens/s apart / colocated, {name}", rates),
    ]


def _seen(found: ArrangementComparison, arrangement: Arrangement) -> list[Request]:
    served = found.of(arrangement)
    assert served
    return list(clients(served, found.asks).values())


def _p99(found: ArrangementComparison, arrangement: Arrangement) -> float:
    return percentile([gap for one in _seen(found, arrangement) for gap in itl_s(one)], 99)


def _longest_ttft(found: ArrangementComparison, arrangement: Arrangement) -> float:
    return max(map(ttft_s, _seen(found, arrangement)))


def _rate(found: ArrangementComparison, arrangement: Arrangement) -> float:
    return tps_total(_seen(found, arrangement))
