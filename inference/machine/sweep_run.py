"""A sweep as it runs: each pass timed until its median is steady, as far as time allows."""

import datetime
import statistics
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.bounded import PASS_S, Budget
from inference.jobs.experiments import Report, Reports
from inference.machine.sweeps import Case, Setting, Sweep, SweepPoint

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

FEWEST, MOST = 3, 9
"""Counted repeats of a pass, after one warm-up."""
STEADY = 0.03
"""A median is steady when the newest repeat has moved it by less than this share."""
PATIENCE_S = 8.0
"""No more repeats after the least number once the passes of a case have taken this long."""
TOTAL_S = 120.0
"""Of passes in one sweep."""

_CHUNK = 256  # tokens of a pass that only fills a cache
_TOKEN = 1  # which token is fed does not change the time


def measure(engine: "Engine", cases: Sequence[Case]) -> Reports[Sweep]:
    """Time every setting of every case, in order; yields after every pass.

    A case is left out if the one before says that a pass of it would hold others up or that the time will not do.
    """
    sweep, budget = _empty(engine), Budget(TOTAL_S, PASS_S)
    weights = [sum(_weight(engine.spec, setting) for setting in case) for case in cases]
    for place, case in enumerate(cases):
        if why := _refusal(sweep, case, budget):
            sweep = replace(sweep, left_out=(*sweep.left_out, f"Not measured: {_words(case[-1])}; {why}."))
            continue
        arms = [_Arm(engine, setting) for setting in case]
        num_passes = 0
        while not _is_enough(arms, budget):
            for arm in arms:
                done = sum(weights[:place]) + weights[place] * min(num_passes / (FEWEST + 1), 1)
                words = _words(arm.setting) + ("" if num_passes else ", warm-up")
                for spent_s in arm.prepare():
                    budget.spend(spent_s)
                    yield Report(done / sum(weights), doing=words)
                budget.spend(arm.run())
                newest = tuple(arm.point for arm in arms if arm.num_counted)
                yield Report(done / sum(weights), replace(sweep, points=sweep.points + newest), words)
            num_passes += 1
        sweep = replace(sweep, points=sweep.points + tuple(arm.point for arm in arms))
    return sweep


def _refusal(sweep: Sweep, case: Case, budget: Budget) -> str:
    """Why no pass of this case is begun, going by the newest point of each of its arms; empty if it may be."""
    expected_s = []
    for setting in case:
        if known := sweep.arm(setting.arm):
            ratio = _weight(sweep.spec, setting) / _weight(sweep.spec, known[-1].setting)
            expected_s.append(known[-1].median_s * ratio)
    return budget.refusal(max(expected_s), (FEWEST + 1) * len(expected_s)) if expected_s else ""


def _is_enough(arms: Sequence["_Arm"], budget: Budget) -> bool:
    if min(arm.num_counted for arm in arms) < 1:
        return False
    if any(budget.refusal(arm.shortest_s) for arm in arms):
        return True
    if min(arm.num_counted for arm in arms) < FEWEST:
        return False
    return sum(arm.spent_s for arm in arms) > PATIENCE_S or all(arm.is_steady for arm in arms)


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

    def prepare(self) -> Generator[float, None, None]:
        """Make the cache hold what comes before the pass; yields the seconds of each pass that this needs."""
        if self._cache is not None:
            return
        self._cache = self._engine.new_cache()
        num_before = self.setting.context_len - self.setting.num_query_tokens
        for start in range(0, num_before, _CHUNK):
            yield self._engine.forward([_TOKEN] * min(_CHUNK, num_before - start), self._cache).forward_s
        if num_before and self.setting.batch_size > 1:
            self._cache.batch_repeat_interleave(self.setting.batch_size)

    def run(self) -> float:
        """One pass; its seconds."""
        from inference.device import cores  # noqa: PLC0415  # pages must not wait for torch

        rows = [[_TOKEN] * self.setting.num_query_tokens] * self.setting.batch_size
        with cores(self.setting.num_cores):
            forward = self._engine.forward_rows(rows, self._cache)
        self._times_s.append(forward.forward_s)
        if forward.device_s is not None:
            self._device_s.append(forward.device_s)
        is_sliding = any(getattr(layer, "is_sliding", False) for layer in self._cache.layers)
        if self.setting.num_query_tokens == self.setting.context_len or is_sliding:
            self._cache = None  # a prefill starts anew; a sliding window cannot give back what it forgot
        else:
            self._cache.crop(-self.setting.num_query_tokens)
        return forward.forward_s

    @property
    def shortest_s(self) -> float:
        return min(self._times_s[1:])

    @property
    def spent_s(self) -> float:
        return sum(self._times_s)

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
    def point(self) -> SweepPoint:
        return SweepPoint(
            self.setting, tuple(self._times_s[1:]), tuple(self._times_s[:1]), tuple(self._device_s[1:])
        )


def _words(setting: Setting) -> str:
    where = f"at {setting.context_len:,}" if setting.phase == "decode" else f"of {setting.num_query_tokens:,}"
    batch = f", batch {setting.batch_size}" if setting.batch_size > 1 else ""
    cores_used = f", {setting.num_cores} core{'s' * (setting.num_cores > 1)}" if setting.num_cores else ""
    return f"{setting.phase} {where} token{'s' * (setting.context_len > 1)}{batch}{cores_used}"


def _weight(spec: ModelSpec, setting: Setting) -> float:
    """Rough seconds of the pass on a small CPU: only their ratios are used, for the progress bar."""
    work = setting.work(spec)
    return work.flops / 150e9 + work.bytes / 15e9 + 0.01


def _empty(engine: "Engine") -> Sweep:
    import torch  # noqa: PLC0415  # pages read sweeps, and must not wait for torch

    from inference.device import device_name  # noqa: PLC0415

    return Sweep(
        points=(),
        spec=engine.spec,
        dtype=str(engine.dtype).removeprefix("torch."),
        device=device_name(engine.device),
        threads=torch.get_num_threads(),
        torch_version=torch.__version__,
        date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    )
