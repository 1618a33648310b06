"""Sweeps: the same pass at many lengths or batch sizes, timed until the median is steady."""

import datetime
import statistics
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inference.cost import Work as PassWork
from inference.cost import forward_work, kv_bytes
from inference.estimate import Estimate, estimate
from inference.experiments import Report, Work
from inference.roofline import Ceilings
from inference.spec import ModelSpec
from inference.trace import Phase

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.limits import Limits

FEWEST, MOST = 3, 9
"""Counted repeats of a pass, after one warm-up."""
STEADY = 0.03
"""A median is steady when the newest repeat has moved it by less than this share."""
PATIENCE_S = 8.0
"""No more repeats after the least number once a case has taken this long."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One pass to be timed."""

    arm: str
    """What it is compared as, or its phase where nothing is compared."""
    phase: Phase
    num_query_tokens: int
    context_len: int
    """Tokens in each KV cache after the pass."""
    batch_size: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1 or not 1 <= self.num_query_tokens <= self.context_len:
            raise ValueError(
                f"a pass feeds from 1 to context_len tokens to each of at least one sequence, got "
                f"num_query_tokens={self.num_query_tokens}, context_len={self.context_len}, "
                f"batch_size={self.batch_size}"
            )

    def work(self, spec: ModelSpec) -> PassWork:
        """What the pass costs by arithmetic."""
        return forward_work(
            spec,
            num_query_tokens=self.num_query_tokens,
            context_len=self.context_len,
            batch_size=self.batch_size,
        )

    def estimate(self, spec: ModelSpec, ceilings: Ceilings) -> Estimate:
        """How long it should take on the machine these were measured on."""
        return estimate(
            spec,
            ceilings,
            num_query_tokens=self.num_query_tokens,
            context_len=self.context_len,
            batch_size=self.batch_size,
        )


@dataclass(frozen=True, slots=True)
class Point:
    """One setting, measured."""

    setting: Setting
    times_s: tuple[float, ...]
    """Every counted repeat, in the order they ran: host time to the synchronised result."""
    warm_up_s: tuple[float, ...]
    """The passes before them, which pay for allocations and kernel choices; left out of every statistic."""
    device_s: tuple[float, ...] = ()
    """The device's own time of each counted repeat; empty where it has no clock of its own."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.times_s)

    @property
    def lower_s(self) -> float:
        """First quartile, interpolated as numpy does."""
        return self._quartiles[0]

    @property
    def upper_s(self) -> float:
        """Third quartile."""
        return self._quartiles[2]

    @property
    def _quartiles(self) -> list[float]:
        if len(self.times_s) == 1:
            return list(self.times_s) * 3
        return statistics.quantiles(self.times_s, n=4, method="inclusive")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Measured points, with what they were measured on."""

    points: tuple[Point, ...]
    spec: ModelSpec
    dtype: str
    device: str
    threads: int
    torch_version: str
    date: str
    """ISO 8601, with the offset."""

    def arm(self, name: str) -> tuple[Point, ...]:
        """The points of one arm, in the order they were measured."""
        return tuple(point for point in self.points if point.setting.arm == name)


_CHUNK = 256  # tokens of a pass that only fills a cache
_TOKEN = 1  # which token is fed does not change the time
Case = Sequence[Setting]
"""Settings that are compared with each other: their repeats take turns."""


def measure(engine: "Engine", cases: Sequence[Case]) -> Work[Sweep]:
    """Time every setting of every case, in order; yields after every pass."""
    sweep = _empty(engine)
    weights = [sum(_weight(engine.spec, setting) for setting in case) for case in cases]
    for place, case in enumerate(cases):
        arms = [_Arm(engine, setting) for setting in case]
        began = time.perf_counter()
        num_passes = 0
        while not _is_enough(arms, time.perf_counter() - began):
            for arm in arms:
                done = sum(weights[:place]) + weights[place] * min(num_passes / (FEWEST + 1), 1)
                words = _words(arm.setting) + ("" if num_passes else ", warm-up")
                for _ in arm.prepare():
                    yield Report(done / sum(weights), doing=words)
                arm.run()
                newest = tuple(arm.point for arm in arms if arm.num_counted)
                yield Report(done / sum(weights), replace(sweep, points=sweep.points + newest), words)
            num_passes += 1
        sweep = replace(sweep, points=sweep.points + tuple(arm.point for arm in arms))
    return sweep


def _is_enough(arms: Sequence["_Arm"], elapsed_s: float) -> bool:
    if min(arm.num_counted for arm in arms) < FEWEST:
        return False
    return elapsed_s > PATIENCE_S or all(arm.is_steady for arm in arms)


def check(engine: "Engine", limits: "Limits", cases: Sequence[Case]) -> None:
    """Refuse lengths beyond the model's context and caches beyond the memory, before any work."""
    longest = max(setting.context_len for case in cases for setting in case)
    if longest > engine.spec.max_context:
        raise ValueError(
            f"This sweep reaches {longest:,} tokens, the model's context holds {engine.spec.max_context:,}; "
            "choose shorter lengths."
        )
    for case in cases:
        held = sum(
            kv_bytes(engine.spec, context_len=setting.context_len, batch_size=setting.batch_size)
            for setting in case
        )
        limits.check_kv(held, f"The KV caches of batch {case[0].batch_size} at {case[0].context_len:,} tokens")


class _Arm:
    """One setting while it is measured. A decode keeps its cache and takes the new token back every time."""

    def __init__(self, engine: "Engine", setting: Setting) -> None:
        self.setting, self._engine = setting, engine
        self._cache: Any = None
        self._times_s: list[float] = []
        self._device_s: list[float] = []

    def prepare(self) -> Generator[None, None, None]:
        """Make the cache hold what comes before the pass; yields after each pass that this needs."""
        if self._cache is not None:
            return
        self._cache = self._engine.new_cache()
        num_before = self.setting.context_len - self.setting.num_query_tokens
        for start in range(0, num_before, _CHUNK):
            self._engine.forward([_TOKEN] * min(_CHUNK, num_before - start), self._cache)
            yield
        if num_before and self.setting.batch_size > 1:
            self._cache.batch_repeat_interleave(self.setting.batch_size)

    def run(self) -> None:
        rows = [[_TOKEN] * self.setting.num_query_tokens] * self.setting.batch_size
        forward = self._engine.forward_rows(rows, self._cache)
        self._times_s.append(forward.forward_s)
        if forward.device_s is not None:
            self._device_s.append(forward.device_s)
        is_sliding = any(getattr(layer, "is_sliding", False) for layer in self._cache.layers)
        if self.setting.num_query_tokens == self.setting.context_len or is_sliding:
            self._cache = None  # a prefill starts anew; a sliding window cannot give back what it forgot
        else:
            self._cache.crop(-self.setting.num_query_tokens)

    @property
    def num_counted(self) -> int:
        return max(len(self._times_s) - 1, 0)

    @property
    def is_steady(self) -> bool:
        if self.num_counted < FEWEST:
            return False
        if self.num_counted >= MOST:
            return True
        times = self._times_s[1:]
        before, now = statistics.median(times[:-1]), statistics.median(times)
        return abs(now - before) <= STEADY * before

    @property
    def point(self) -> Point:
        return Point(self.setting, tuple(self._times_s[1:]), tuple(self._times_s[:1]), tuple(self._device_s[1:]))


def _words(setting: Setting) -> str:
    where = f"at {setting.context_len:,}" if setting.phase == "decode" else f"of {setting.num_query_tokens:,}"
    batch = f", batch {setting.batch_size}" if setting.batch_size > 1 else ""
    return f"{setting.phase} {where} token{'s' * (setting.context_len > 1)}{batch}"


def _weight(spec: ModelSpec, setting: Setting) -> float:
    """Rough seconds of the pass on a small CPU: only their ratios are used, for the progress bar."""
    work = setting.work(spec)
    return work.flops / 150e9 + work.bytes / 15e9 + 0.01


def _empty(engine: "Engine") -> Sweep:
    import torch  # noqa: PLC0415  # pages read sweeps, and must not wait for torch

    from inference.engine import device_name  # noqa: PLC0415

    return Sweep(
        points=(),
        spec=engine.spec,
        dtype=str(engine.dtype).removeprefix("torch."),
        device=device_name(engine.device),
        threads=torch.get_num_threads(),
        torch_version=torch.__version__,
        date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    )
