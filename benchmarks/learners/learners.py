"""A class at once, by raw websockets: 30 learners who rerun their page now and then, 8 who step without pause."""

import asyncio
import statistics
import time
from contextlib import AsyncExitStack

from benchmarks.learners.socket_client import Learner, learner
from benchmarks.measurement import Measurement
from benchmarks.server import server

_PAGE = "step-through"
_CLASS, _THINK_S, _LESSON_S = 30, 2.0, 30.0
_STEPPERS, _STEPPING_S = 8, 20.0


def run() -> list[Measurement]:
    with server() as port:
        empty = asyncio.run(_reruns(port, has_run=False))
        drawn = asyncio.run(_reruns(port, has_run=True))
        steps = asyncio.run(_steps(port))
    return [empty, drawn, *steps]


async def _reruns(port: int, *, has_run: bool) -> Measurement:
    """One rerun every two seconds each, of a page before prefill or of one whose charts have a run to draw."""
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(learner(port, _PAGE)) for _ in range(_CLASS)]
        for person in people if has_run else []:
            await person.press("prefill")
        start = time.perf_counter()
        delays = [start + _THINK_S * place / _CLASS for place in range(_CLASS)]
        waits = await asyncio.gather(*map(_rerun_now_and_then, people, delays))
    flat = sorted(wait for each in waits for wait in each)
    expected = _CLASS * int(_LESSON_S / _THINK_S)
    p95 = flat[int(len(flat) * 0.95)]
    detail = {"answered": len(flat), "asked_for": expected, "p95_s": p95, "most_s": flat[-1]}
    page = "a run on the page" if has_run else "before prefill"
    return Measurement(f"{_CLASS} learners, a rerun {page}", statistics.median(flat), "s", limit=0.3, detail=detail)


async def _rerun_now_and_then(person: Learner, first_s: float) -> list[float]:
    """One rerun every `_THINK_S`; who is answered too late for the next skips it."""
    waits = []
    for turn in range(int(_LESSON_S / _THINK_S)):
        due_s = first_s + turn * _THINK_S
        if (ahead_s := due_s - time.perf_counter()) < -_THINK_S:
            continue
        await asyncio.sleep(max(ahead_s, 0.0))
        waits.append(await person.rerun())
    return waits


async def _steps(port: int) -> list[Measurement]:
    """The fair share: while 8 press without pause, one press in 8 is yours, so 8 times the time per press.

    `press` refuses a step that is lost or doubled: the page's own count goes up by exactly one.
    """
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(learner(port, _PAGE)) for _ in range(_STEPPERS)]
        for person in people:
            await person.press("prefill")
        start = time.perf_counter()
        waits = await asyncio.gather(*(_press_until(person, start + _STEPPING_S) for person in people))
        seconds = time.perf_counter() - start
        num_steps = [person.step - 1 for person in people]
    if num_steps != [len(each) for each in waits]:
        raise RuntimeError(f"the presses made {[len(each) for each in waits]} steps, the pages say {num_steps}")
    fair_s = seconds * _STEPPERS / sum(num_steps)
    worst_mean = max(statistics.fmean(each) for each in waits)
    worst = max(max(each) for each in waits)
    detail = {"fair_share_s": fair_s, "presses": sum(num_steps), "presses_per_s": sum(num_steps) / seconds}
    return [
        Measurement(f"{_STEPPERS} stepping, slowest / fair share", worst_mean / fair_s, limit=1.5, detail=detail),
        Measurement(f"{_STEPPERS} stepping, longest wait / fair share", worst / fair_s, limit=1.5, detail=detail),
        Measurement("steps lost or doubled", 0, limit=0),
    ]


async def _press_until(person: Learner, end_s: float) -> list[float]:
    waits = []
    while time.perf_counter() < end_s:
        waits.append(await person.press("next"))
    return waits
