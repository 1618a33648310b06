"""Measurements as a machine may give them at its worst: tiny, huge and equal times, single points, arms missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from inference.arithmetic.metrics import Request
from inference.arithmetic.roofline import Ceilings
from inference.batching.prefill import Batched
from inference.batching.records import Arrival, BatchingComparison, BatchPass, ServedPlan, ServingPlan, Share
from inference.catalogue import models
from inference.disaggregation.records import (
    ArrangementComparison,
    ArrangementRun,
    ClientRequest,
    StepTimes,
    Transfer,
    WorkerPass,
)
from inference.machine.probes import GroupTimes, ProbedPass
from inference.machine.sweeps import Setting, Sweep, SweepPoint
from inference.prefix_caching.both_ways import BothWays
from inference.prefix_caching.records import CachedPrefill
from inference.speculation.records import Repeat, Round, Speculated, SpeculationRequest
from inference.trace import Trace
from lessons import load_trace

TIMES = st.sampled_from([1e-7, 1e-7, 1e-3, 0.05, 0.05, 3600.0]) | st.floats(1e-7, 1e4)
MAYBE_NO_TIME = st.just(0.0) | TIMES
SHARES = st.sampled_from([0.0, 1e-12, 0.5, 1.0]) | st.floats(0, 1)
SPEC = models()["smollm2-135m"]
LENGTHS = (1, 16, 64, 256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class Extremes:
    """What a test draws its records from."""

    draw: Callable[[st.SearchStrategy], float]

    def time(self) -> float:
        return self.draw(TIMES)

    def wait(self) -> float:
        return self.draw(MAYBE_NO_TIME)

    def share(self) -> float:
        return self.draw(SHARES)

    def whole(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def times(self, least: int = 1, most: int = 3) -> tuple[float, ...]:
        return tuple(self.time() for _ in range(self.whole(least, most)))

    def is_so(self) -> bool:
        return bool(self.whole(0, 1))


def ceilings(of: Extremes) -> Ceilings:
    rates = (of.time() * 1e9, of.time() * 1e10)
    ladder = tuple((tokens, of.time() * 1e-9) for tokens in (1, 16, 64))
    return Ceilings("CPU", "float32", *rates, of.time(), "2026-12-01", 2, ladder, of.wait() * 1e9, of.wait() * 1e-9)


def point(of: Extremes, *, phase: str = "decode", tokens: int = 1, context: int = 16, batch: int = 1) -> SweepPoint:
    setting = Setting(phase, phase, num_query_tokens=tokens, context_len=context, batch_size=batch)  # type: ignore[arg-type]
    return SweepPoint(setting, of.times(), of.times(0, 1))


def prefills(of: Extremes) -> tuple[SweepPoint, ...]:
    return tuple(point(of, phase="prefill", tokens=n, context=n) for n in LENGTHS[: of.whole(0, len(LENGTHS))])


def batches(of: Extremes) -> tuple[SweepPoint, ...]:
    return tuple(point(of, context=128, batch=size) for size in (1, 2, 8, 32)[: of.whole(0, 4)])


def cores(of: Extremes) -> list[list[SweepPoint]]:
    """Up to four passes, each with one core and up to three numbers of more."""
    counts = (1, 2, 4, 12)[: of.whole(1, 4)]
    passes = (("decode", 1, 512, 1), ("prefill", 64, 64, 1), ("decode", 1, 128, 32), ("prefill", 512, 512, 1))
    return [
        [replace(one, setting=replace(one.setting, num_cores=count)) for count in counts]
        for phase, tokens, context, batch in passes[: of.whole(0, 4)]
        for one in [point(of, phase=phase, tokens=tokens, context=context, batch=batch)]
    ]


def sweep(points: Sequence[SweepPoint]) -> Sweep:
    return Sweep(tuple(points), SPEC, "float32", "CPU", 2, "2.13", "2026-12-01T00:00:00+00:00")


def served(of: Extremes, name: str = "static") -> ServedPlan:
    """Two streams and a newcomer in up to five passes; it may end before anybody has a token."""
    plan = ServingPlan(name, (Arrival(0, 7, 3), Arrival(0, 3, 3), Arrival(1, 9, 1)), slots=3, tokens_per_pass=16)
    shares = (
        (Share(0, "prefill", 7, 11), Share(1, "prefill", 3, 11)),
        (Share(0, "decode", 1, 12), Share(1, "decode", 1, 12), Share(2, "prefill", 5, None)),
        (Share(0, "decode", 1, 12), Share(2, "prefill", 4, 13)),
        (Share(1, "decode", 1, 14),),
    )
    passes = [BatchPass(place, of.time(), place, each) for place, each in enumerate(shares)]
    return ServedPlan(plan, tuple(passes[: of.whole(0, len(passes))]))


def batching(of: Extremes) -> BatchingComparison:
    return BatchingComparison((served(of), served(of, "continuous")))


def batched(of: Extremes) -> list[Batched]:
    return [
        Batched(
            point(of, phase="prefill", tokens=length, context=length),
            point(of, phase="prefill", tokens=length, context=length, batch=4),
        )
        for length in (4, 16, 256)[: of.whole(0, 3)]
    ]


def processes(of: Extremes) -> ArrangementComparison:
    asks = (ClientRequest(0.0, 5, 2), ClientRequest(0.0, 90, 1))

    def arranged(name: str, num_passes: int) -> ArrangementRun:
        start, passes = 0.0, []
        for worker, phase, ask in ((0, "prefill", 0), (0, "prefill", 1), (1, "decode", 0))[:num_passes]:
            end = start + of.time()
            passes.append(WorkerPass(worker, phase, (ask,), (1,), 9, start, end))  # type: ignore[arg-type]
            start = end
        sent = (Transfer(0, of.whole(0, 10**9), 0.0, of.wait()),) if name == "disaggregated" and of.is_so() else ()
        return ArrangementRun(name, tuple(passes), sent)  # type: ignore[arg-type]

    both = (arranged("colocated", of.whole(0, 3)), arranged("disaggregated", of.whole(0, 3)))
    times = StepTimes(((16, of.time()), (100, of.time())), ((1, of.time()), (2, of.time())))
    return ArrangementComparison(asks, both[: of.whole(0, 2)], times, 1, is_pinned=of.is_so())


def requests(of: Extremes) -> list[Request]:
    made = []
    for _ in range(of.whole(1, 4)):
        sent = of.wait()
        first = sent + of.wait()
        gaps = [of.wait() for _ in range(of.whole(0, 3))]
        times = [first + sum(gaps[:place]) for place in range(len(gaps) + 1)]
        made.append(Request(sent, tuple(times), (1,) * len(times), 8))
    return made


def cached(of: Extremes, *, prompt: int = 64) -> CachedPrefill:
    hits = of.whole(0, prompt // 16 - 1)
    return CachedPrefill(prompt, 16, hits, of.wait(), of.wait(), of.time(), 1)


def both_ways(of: Extremes) -> BothWays:
    tokens = tuple(of.whole(0, 1) for _ in range(3)), tuple(of.whole(0, 1) for _ in range(3))
    times = tuple(of.time() for _ in range(2)), tuple(of.time() for _ in range(2))
    return BothWays(of.wait(), *tokens, *times, margin=of.wait())


def speculated(of: Extremes, *, num_drafted: int = 4) -> Speculated:
    def one() -> Round:
        drafted = tuple(range(of.whole(0, num_drafted)))
        return Round(drafted, of.whole(0, len(drafted)), 7, of.wait(), of.time(), of.wait())

    repeats = tuple(Repeat(tuple(one() for _ in range(of.whole(1, 3))), of.times()) for _ in range(of.whole(1, 2)))
    asked = SpeculationRequest("x", num_drafted=num_drafted)
    return Speculated(asked, "float32", 9, 1, repeats, "x", (1, 2), of.wait(), None, "maximum")


def probed(of: Extremes, phase: str = "prefill") -> ProbedPass:
    groups = tuple(GroupTimes(name, 3, (of.time(), of.time())) for name in ("attention", "MLP", "norms", "LM head"))
    hooked, plain = (of.time(), of.time()), (of.time(), of.time())
    return ProbedPass(phase, 8, 8, groups, hooked, plain)  # type: ignore[arg-type]


def run(of: Extremes) -> Trace:
    """The recorded run with other times and other roofs; 0 for a stage that the clock did not see."""
    recorded = load_trace("lighthouse")
    steps = [
        replace(
            step,
            forward_s=of.wait(),
            queue_s=of.wait(),
            tokenize_s=of.wait(),
            sample_s=of.wait(),
            detokenize_s=of.wait(),
        )
        for step in recorded.steps[: of.whole(1, 4)]
    ]
    return replace(recorded, steps=steps, ceilings=ceilings(of) if of.is_so() else None)
