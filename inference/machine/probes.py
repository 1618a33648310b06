"""Measured time per kind of module: hooks around attention, MLP, norms and LM head, in passes that are no steps."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Generator
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inference.arithmetic.units import seconds
from inference.cost import forward_work, kv_bytes
from inference.jobs.bounded import PASS_S, Budget, Size, climb, reported
from inference.jobs.experiments import Job, Report, Reports
from inference.machine.module_hooks import Group, Modules, clock, find_modules, hooked
from inference.trace import Phase

if TYPE_CHECKING:
    from inference.engine import Engine, Forward
    from inference.jobs.limits import Limits

TOTAL_S = 60.0
"""Of passes in each phase."""
_REPEATS: dict[Phase, int] = {"prefill": 7, "decode": 15}


@dataclass(frozen=True, slots=True)
class GroupTimes:
    """All modules of one kind."""

    group: Group
    num_modules: int
    times_s: tuple[float, ...]
    """Per hooked pass, summed over the modules."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.times_s)


@dataclass(frozen=True, slots=True)
class ProbedPass:
    """One kind of pass, repeated with and without hooks in turns. On a GPU these are the device's own times."""

    phase: Phase
    num_query_tokens: int
    context_len: int
    groups: tuple[GroupTimes, ...]
    hooked_s: tuple[float, ...]
    plain_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The pass as it is without hooks."""
        return statistics.median(self.plain_s)

    @property
    def rest_s(self) -> float:
        """What no hook saw: embedding, rotary angles, residual sums, masks, and the hooks themselves."""
        seen = zip(*(group.times_s for group in self.groups), strict=True)
        unseen = [pass_s - sum(times) for pass_s, times in zip(self.hooked_s, seen, strict=True)]
        return float(statistics.median(unseen))

    @property
    def probe_s(self) -> float:
        """What the hooks cost: the hooked pass's median less the plain one's. Below 0 it is lost in the noise."""
        return statistics.median(self.hooked_s) - self.median_s


@dataclass(frozen=True, slots=True)
class ModuleTimes:
    """A prefill of n tokens and a decode step at context n, by module."""

    passes: tuple[ProbedPass, ...]
    left_out: tuple[str, ...] = ()
    """Sentences on repeats that were not made, and why."""


def modules_job(num_tokens: int) -> Job[ModuleTimes]:
    """Time per module at this length, on whatever model runs."""

    def begin(engine: Engine, limits: Limits) -> Reports[ModuleTimes]:
        if not 2 <= num_tokens <= engine.spec.max_context:
            raise ValueError(
                f"the model's context holds {engine.spec.max_context:,} tokens, so choose 2 to that many; "
                f"got {num_tokens:,}"
            )
        size = 2 * kv_bytes(engine.spec, context_len=num_tokens)  # a copy is decoded on
        limits.check_kv(size, f"Two KV caches of {num_tokens:,} tokens")
        find_modules(engine.model)
        return measure(engine, num_tokens)

    return Job(f"time per module, {num_tokens} tokens", ModuleTimes, begin)


def measure(engine: Engine, num_tokens: int) -> Reports[ModuleTimes]:
    """Time both phases, hooked and plain passes in turns; the first of each is warm-up and left out."""
    modules = find_modules(engine.model)
    choose = random.Random(0)
    ids = [choose.randrange(engine.spec.vocab_size) for _ in range(num_tokens)]
    yield from _check_time(engine, num_tokens)
    prefill = yield from _probed(engine, modules, "prefill", ids, Report(0.0, ModuleTimes(())))
    decode = yield from _probed(engine, modules, "decode", ids, Report(0.5, ModuleTimes((prefill,))))
    passes = (prefill, decode)
    return ModuleTimes(passes, tuple(sentence for probed in passes for sentence in _left_out(probed)))


_SHORT = (16, 128)  # tokens of the passes that say how long the others will take


def _check_time(engine: Engine, num_tokens: int) -> Generator[Report[ModuleTimes], None, None]:
    """Refuse a prefill that would hold everybody up, before it begins; ValueError names a length that would not."""

    def flops(length: int) -> float:
        return forward_work(engine.spec, num_query_tokens=length, context_len=length).flops

    def size(length: int) -> Size:
        def prepare() -> Callable[[], object]:
            return lambda: engine.forward([1] * length, engine.new_cache())

        return Size(f"prefill of {length} tokens", flops(length), prepare)

    short = [size(length) for length in _SHORT if length < num_tokens]
    if not short:
        return
    found = yield from reported(climb(short, Budget(TOTAL_S, PASS_S), repeats=1), "short passes, to know how long")
    rate = found.timed[-1].work / found.timed[-1].best_s
    if why := Budget(TOTAL_S, PASS_S).refusal(flops(num_tokens) / rate):
        shorter = max(
            length for length in range(1, num_tokens) if length == 1 or flops(length) <= rate * PASS_S / 2
        )
        raise ValueError(
            f"prefills of {num_tokens:,} tokens cannot be probed here: {why}; choose {shorter:,} or fewer"
        )


def _left_out(probed: ProbedPass) -> tuple[str, ...]:
    wanted, made = _REPEATS[probed.phase], len(probed.plain_s)
    if made == wanted:
        return ()
    return (f"Only {made} of {wanted} repeats of the {probed.phase}: their time was up after {seconds(TOTAL_S)}.",)


def _probed(
    engine: Engine, modules: Modules, phase: Phase, ids: list[int], so_far: Report[ModuleTimes]
) -> Generator[Report[ModuleTimes], None, ProbedPass]:
    now, between = clock(engine)
    prefix = engine.new_cache()
    if phase == "decode":
        engine.forward(ids[:-1], prefix)
        yield Report(so_far.fraction, so_far.partial, "decode, filling the cache")
    fed = ids if phase == "prefill" else ids[-1:]
    plain_s: list[float] = []
    hooked_s: list[float] = []
    times: dict[Group, list[float]] = {group: [] for group in modules}
    budget = Budget(TOTAL_S, PASS_S)
    for repeat in range(_REPEATS[phase] + 1):
        if plain_s and budget.refusal(2 * plain_s[-1]):
            break
        plain = engine.forward(fed, deepcopy(prefix))
        yield _report(so_far, phase, repeat, 0)
        with hooked(modules, now) as spans:
            watched = engine.forward(fed, deepcopy(prefix))
        budget.spend(plain.forward_s + watched.forward_s)
        if repeat:
            plain_s.append(_pass_s(plain))
            hooked_s.append(_pass_s(watched))
            for group in modules:
                times[group].append(sum(between(s.start, s.stop) for s in spans if s.group == group))
        yield _report(so_far, phase, repeat, 1)
    groups = tuple(GroupTimes(group, len(modules[group]), tuple(times[group])) for group in modules)
    return ProbedPass(phase, len(fed), len(ids), groups, tuple(hooked_s), tuple(plain_s))


def _report(so_far: Report[ModuleTimes], phase: Phase, repeat: int, turn: int) -> Report[ModuleTimes]:
    done = (2 * repeat + turn + 1) / (2 * _REPEATS[phase] + 2)
    doing = f"{phase}, {'warm-up' if repeat == 0 else f'pass {repeat} of {_REPEATS[phase]}'}"
    return Report(so_far.fraction + done / 2, so_far.partial, f"{doing}, {'with' if turn else 'without'} hooks")


def _pass_s(forward: Forward) -> float:
    return forward.forward_s if forward.device_s is None else forward.device_s
