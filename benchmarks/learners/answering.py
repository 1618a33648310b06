"""A class that answers at once: every answer graded and saved, none lost, not even when the server is killed."""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.learners.answering_class import CLASS
from benchmarks.measurement import Measurement
from quizzes.progress.progress import Progress
from tests.quizzes import postgresql

_ROOT = Path(__file__).parents[2]
_LESSON_S, _THINK_S = 60.0, 2.0
_KILLED_AFTER_S = 4.0  # with nobody thinking, so that SIGKILL hits writes under way
_LIMIT_S = 0.150


@dataclass(slots=True)
class _Told:
    """What a class's process said before it ended."""

    kept: dict[str, list[str]] = field(default_factory=dict)
    """By learner's key, the answers whose saving was acknowledged."""
    waits_s: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def run() -> list[Measurement]:
    rows = []
    for name, database in (("SQLite", _sqlite), ("PostgreSQL", _postgresql)):
        with database() as url:
            if url:
                rows += [*_lesson(url, name), _kill(url, name)]
    return rows


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="two-phases-answering-") as folder:
        yield f"sqlite:///{folder}/progress.sqlite3"


@contextmanager
def _postgresql() -> Iterator[str]:
    """Its address; empty where its binaries are not installed."""
    if binaries := postgresql.binaries():
        with postgresql.running(binaries) as server:
            yield server.new_database()
    else:
        print("no PostgreSQL here (initdb, pg_ctl): measured on SQLite only;", end=" ", flush=True)
        yield ""


def _lesson(url: str, database: str) -> list[Measurement]:
    """Everybody answers every two seconds or so for a minute, at random moments."""
    process = _class(url, think_s=_THINK_S, seconds=_LESSON_S)
    told = _read(process)
    if process.wait() != 0:
        raise RuntimeError(f"the answering class ended with status {process.returncode}; its errors stand above")
    stored = _stored(url, told)
    kept = [one for each in told.kept.values() for one in each]
    lost, doubled = Counter(kept) - Counter(stored), Counter(stored) - Counter(kept)
    waits = sorted(told.waits_s)
    p99 = waits[math.ceil(len(waits) * 0.99) - 1]
    detail: dict[str, float | str] = {"answers": len(kept), "most_s": waits[-1], "think_s": _THINK_S}
    detail |= {"refused": "; ".join(sorted(set(told.refused)))} if told.refused else {}
    who = f"{CLASS} answering, {database}"
    return [
        Measurement(f"{who}: graded and saved", statistics.median(waits), "s", limit=_LIMIT_S, detail=detail),
        Measurement(f"{who}: graded and saved, p99", p99, "s", limit=_LIMIT_S),
        Measurement(f"{who}: refused", len(told.refused), limit=0),
        Measurement(f"{who}: lost or doubled", (lost + doubled).total(), limit=0),
    ]


def _kill(url: str, database: str) -> Measurement:
    """`kill -9` in the middle; then, in another process, is every acknowledged answer there?"""
    process = _class(url, think_s=0.0, seconds=_LESSON_S)
    started, told = math.inf, _Told()
    assert process.stdout
    for line in process.stdout:
        started = min(started, time.monotonic())
        if line.endswith("\n"):  # SIGKILL may cut the last one
            _take(line, told)
        if time.monotonic() - started > _KILLED_AFTER_S:
            process.kill()
    if process.wait() != -9:
        raise RuntimeError(f"the answering class ended with status {process.returncode} before it was killed")
    stored = set(_stored(url, told))
    kept = {one for each in told.kept.values() for one in each}
    detail: dict[str, float | str] = {"acknowledged": len(kept), "stored": len(stored)}
    return Measurement(
        f"{CLASS} answering, {database}: lost by kill -9", len(kept - stored), limit=0, detail=detail
    )


def _class(url: str, *, think_s: float, seconds: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks.learners.answering_class", url, str(think_s), str(seconds)]
    return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)


def _read(process: "subprocess.Popen[str]") -> _Told:
    told = _Told()
    assert process.stdout
    for line in process.stdout:
        _take(line, told)
    return told


def _take(line: str, told: _Told) -> None:
    kind, key, submission, rest = line.rstrip("\n").split(" ", 3)
    if kind == "kept":
        told.kept.setdefault(key, []).append(submission)
        told.waits_s.append(float(rest))
    else:
        told.refused.append(rest)


def _stored(url: str, told: _Told) -> list[str]:
    """What a server that starts afterwards finds of these learners, every answer and not only the newest."""
    progress = Progress(url)
    rows = [row for key in told.kept for row in json.loads(progress.export(key))["answers"]]
    progress.close()
    return [str(row["submission"]) for row in rows]
