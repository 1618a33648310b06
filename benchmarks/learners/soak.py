"""A class for real: 30 learners step, read, reload and measure while the engine's process is killed now and then.

`python -m benchmarks.learners.soak MINUTES` prints one table.
"""

import asyncio
import contextlib
import random
import secrets
import statistics
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import psutil

from benchmarks.learners.socket_client import Learner, learner
from benchmarks.measurement import Measurement, table
from benchmarks.server import server

_STEPPING, _READING, _RELOADING, _MEASURING = 10, 12, 5, 3
_STEPS = 40  # of a run, then it begins anew
_LESSONS = ("lesson-prefill", "lesson-decode", "lesson-kv-cache", "lesson-roofline", "lesson-latency", "glossary")
_MEASURED = ("kv-cache", "recompute-start")
_MOST_KILLS, _APART_S = 3, 90.0  # three losses within two minutes would have to be retried by hand
_BACK_S = 120.0
_ENGINE = "inference.server.engine_process"


@dataclass(slots=True)
class _Seen:
    """What the class saw."""

    actions_s: list[float] = field(default_factory=list)
    """Page actions without a pass: reading and reloading."""
    presses_s: list[float] = field(default_factory=list)
    """A press of Next token to the page with its pass, waiting for the others' passes included."""
    passes_s: list[float] = field(default_factory=list)
    """Decode passes as the pages say them."""
    faults: list[str] = field(default_factory=list)
    """A step lost or doubled, a run not found again, a page that failed."""
    memory: list[float] = field(default_factory=list)
    """Bytes resident in the pages' process, every few seconds."""
    descriptors: list[int] = field(default_factory=list)
    restarts_s: list[float] = field(default_factory=list)
    """From a kill to the new process being ready."""


def run(minutes: float) -> list[Measurement]:
    seen, alone = _Seen(), _Seen()
    with server() as port:
        pages = _server(port)
        asyncio.run(_alone(port, alone))
        asyncio.run(_class(port, pages, minutes * 60, seen))
    people = _STEPPING + _READING + _RELOADING + _MEASURING
    detail = {
        "minutes": minutes,
        "kills": len(seen.restarts_s),
        "presses": len(seen.presses_s),
        "actions": len(seen.actions_s),
    }
    slower = statistics.median(seen.passes_s) / statistics.median(alone.passes_s)
    return [
        Measurement(f"{people} learners, a page action, p95", _p95(seen.actions_s), "s", limit=0.5, detail=detail),
        Measurement(f"{_STEPPING} of them stepping, a press, p95", _p95(seen.presses_s), "s"),
        Measurement("decode pass, in the class / alone, medians", slower, limit=1.1),
        Measurement("pages' memory, last fifth / second fifth", _growth(seen.memory), limit=1.1),
        Measurement("pages' descriptors, last fifth / second fifth", _growth(seen.descriptors), limit=1.2),
        Measurement("engine killed, longest until it was back", max(seen.restarts_s, default=0.0), "s"),
        Measurement(
            "steps lost or doubled, runs lost, pages failed",
            len(seen.faults),
            limit=0,
            detail={"faults": "; ".join(seen.faults)[:500]},
        ),
    ]


def _growth(samples: Sequence[float]) -> float:
    """Of the last fifth of the time against the second: the first is still filling up."""
    fifth = max(len(samples) // 5, 1)
    return statistics.median(samples[-fifth:]) / statistics.median(samples[fifth : 2 * fifth])


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


async def _alone(port: int, seen: _Seen) -> None:
    async with learner(port, "step-through") as person:
        await _step(person, seen, until=lambda: person.step >= _STEPS, think_s=0.0)


async def _class(port: int, pages: psutil.Process, seconds: float, seen: _Seen) -> None:
    end_s = time.monotonic() + seconds

    def is_over() -> bool:
        return time.monotonic() > end_s

    actors: list[Callable[[], Awaitable[None]]] = []
    async with AsyncExitStack() as stack:
        for _ in range(_STEPPING):
            person = await stack.enter_async_context(learner(port, "step-through"))
            actors.append(lambda person=person: _step(person, seen, until=is_over, think_s=2.0))  # type: ignore[misc]
        for place in range(_READING):
            person = await stack.enter_async_context(learner(port, _LESSONS[place % len(_LESSONS)]))
            actors.append(lambda person=person: _read(person, seen, is_over))  # type: ignore[misc]
        for _ in range(_MEASURING):
            person = await stack.enter_async_context(learner(port, _MEASURED[0]))
            actors.append(lambda person=person: _measure(person, seen, is_over))  # type: ignore[misc]
        actors += [lambda: _reload(port, seen, is_over)] * _RELOADING
        actors += [lambda: _watch(pages, seen, is_over), lambda: _kill(pages, port, seconds, seen)]
        await asyncio.gather(*(actor() for actor in actors))


async def _step(person: Learner, seen: _Seen, *, until: Callable[[], bool], think_s: float) -> None:
    """Prefill, steps, and again: the page's own count goes up by one with each press."""
    while not until():
        key = "next" if 0 < person.step < _STEPS and "next" in person.buttons else "prefill"
        try:
            waited_s = await person.press(key)
        except (RuntimeError, KeyError) as problem:
            seen.faults.append(f"stepping: {problem}")
            await person.rerun()
        else:
            if key == "next":
                seen.presses_s.append(waited_s)
                seen.passes_s.append(person.pass_s)
        await asyncio.sleep(random.uniform(0.5, 1.5) * think_s)


async def _read(person: Learner, seen: _Seen, is_over: Callable[[], bool]) -> None:
    while not is_over():
        await asyncio.sleep(random.uniform(1, 5))
        seen.actions_s.append(await person.rerun())


async def _reload(port: int, seen: _Seen, is_over: Callable[[], bool]) -> None:
    """A run of one's own, and every few seconds another tab that has to find it as it was."""
    name = secrets.token_hex(16)
    async with learner(port, "step-through", name=name) as person:
        await person.press("prefill")
        await person.press("next")
        expected = person.step
    while not is_over():
        await asyncio.sleep(random.uniform(3, 8))
        start_s = time.perf_counter()
        async with learner(port, "step-through", name=name) as person:
            seen.actions_s.append(time.perf_counter() - start_s)
            if person.step != expected:
                seen.faults.append(f"a reload found step {person.step}, not {expected}")


async def _measure(person: Learner, seen: _Seen, is_over: Callable[[], bool]) -> None:
    """Asks for a sweep, looks at it grow, and asks again."""
    while not is_over():
        pressed = _MEASURED[1] if _MEASURED[1] in person.buttons else None
        seen.actions_s.append(await person.rerun(pressed))
        await asyncio.sleep(random.uniform(2, 4))


async def _watch(pages: psutil.Process, seen: _Seen, is_over: Callable[[], bool]) -> None:
    while not is_over():
        seen.memory.append(pages.memory_info().rss)
        seen.descriptors.append(pages.num_fds())
        await asyncio.sleep(2)


async def _kill(pages: psutil.Process, port: int, seconds: float, seen: _Seen) -> None:
    """Evenly over the time, the first and the last part in peace."""
    kills = min(_MOST_KILLS, int(seconds / _APART_S))
    for _ in range(kills):
        await asyncio.sleep(seconds / (kills + 1))
        old = _engine(pages)
        if old is None:
            continue
        old.kill()
        start_s = time.monotonic()
        while _engine(pages) in (None, old) or not await asyncio.to_thread(_is_ready, port):
            await asyncio.sleep(0.2)
            if time.monotonic() - start_s > _BACK_S:
                seen.faults.append("a killed engine did not come back")
                return
        seen.restarts_s.append(time.monotonic() - start_s)


def _is_ready(port: int) -> bool:
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer,
    ):
        return bool(answer.status == 200)
    return False


def _server(port: int) -> psutil.Process:
    return next(
        process
        for process in psutil.Process().children()
        if str(port) in process.cmdline() and "streamlit" in process.cmdline()
    )


def _engine(pages: psutil.Process) -> psutil.Process | None:
    """None while there is none."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return next((child for child in pages.children() if _ENGINE in child.cmdline()), None)
    return None


if __name__ == "__main__":
    rows = run(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
    print(table(rows))
    sys.exit(any(row.verdict in ("over", "under") for row in rows))
