"""Workers that are killed, parents that are killed, learners who leave: nothing remains, and it is said."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import ArrangementComparison, ClientRequest
from inference.engine import Engine
from inference.jobs.experiments import Report
from inference.jobs.limits import Limits

pytestmark = pytest.mark.slow

ASKS = (
    ClientRequest(0.0, 16, 400),
    *(ClientRequest(0.0, 500, 4),) * 8,
)  # one long stream; caches larger than a pipe holds
_WORKER = "inference.disaggregation.worker"


def workers(parent: int = 0) -> list[psutil.Process]:
    children = psutil.Process(parent or os.getpid()).children()
    return sorted((one for one in children if _WORKER in one.cmdline()), key=lambda one: one.pid)


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # looked up anew: nobody else writes there
    descriptors = psutil.Process().num_fds()
    yield
    assert not workers()
    assert not list(tmp_path.iterdir())
    assert psutil.Process().num_fds() == descriptors


def run_until(
    engine: Engine, is_time: Callable[[Report[ArrangementComparison]], bool], strike: Callable[[], None]
) -> tuple[ArrangementComparison | None, str]:
    """Serve until it is time, strike, go on: what was kept, and what is said."""
    work, newest, was_struck = comparison_job(ASKS).begin(engine, Limits()), None, False
    with pytest.raises(RuntimeError) as caught:  # noqa: PT012  # the one statement that may fail is in a loop
        for report in work:
            newest = report.partial
            if not was_struck and is_time(report):
                was_struck = True
                strike()
    assert was_struck
    return newest, str(caught.value)


def doing(words: str) -> Callable[[Report[ArrangementComparison]], bool]:
    return lambda report: words in report.doing


def kill(number: int) -> Callable[[], None]:
    def strike() -> None:
        workers()[number].kill()

    return strike


def test_a_worker_killed_during_a_prefill_is_named_and_the_passes_so_far_are_kept(tiny: Engine) -> None:
    kept, said = run_until(tiny, doing("disaggregated: the prefill of request 5"), kill(0))
    assert "the first worker (process" in said
    assert "the second worker reported it while waiting for a cache" in said
    assert "What was served until then is kept; run again." in said
    assert kept
    assert len(kept.served[0].passes) > 8
    assert kept.served[1].passes


@pytest.mark.parametrize(("struck", "name"), [(0, "first"), (1, "second")])
def test_a_worker_killed_during_a_transfer_is_reported_by_the_other(tiny: Engine, struck: int, name: str) -> None:
    stopped: list[psutil.Process] = []

    def is_sending(report: Report[ArrangementComparison]) -> bool:
        if not stopped and report.doing.startswith("disaggregated"):
            stopped.append(workers()[1])
            stopped[0].suspend()  # the receiver reads no more, so the transfer stays under way
        return "sending the cache" in report.doing

    def strike() -> None:
        workers()[struck].kill()
        if struck == 0:
            stopped[0].resume()

    kept, said = run_until(tiny, is_sending, strike)
    noticed = {0: "while waiting for a cache", 1: "while sending it the cache of request"}[struck]
    assert f"the {name} worker (process" in said
    assert f"worker reported it {noticed}" in said
    assert kept
    assert kept.served[1].arrangement == "disaggregated"


def test_a_worker_killed_during_decode_is_named(tiny: Engine) -> None:
    def is_decoding(report: Report[ArrangementComparison]) -> bool:
        served = report.partial.of("disaggregated") if report.partial else None
        return bool(served and any(one.phase == "decode" for one in served.passes))

    kept, said = run_until(tiny, is_decoding, kill(1))
    assert "the second worker (process" in said
    assert kept


def test_a_worker_killed_while_it_starts_is_named(tiny: Engine) -> None:
    kept, said = run_until(tiny, doing("starting two processes"), kill(1))
    assert "the second worker (process" in said
    assert "ended during starting" in said
    assert kept
    assert not kept.served


@pytest.mark.parametrize("words", ["sharing", "starting", "timing", "colocated", "disaggregated"])
def test_cancelled_at_any_moment_nothing_is_left(tiny: Engine, words: str) -> None:
    work = comparison_job(ASKS).begin(tiny, Limits())
    for report in work:
        if words in report.doing:
            break
    work.close()


_UNSTARTED = """
import time
from inference.disaggregation.pair import WorkerPair
pair = WorkerPair()
(pair.folder / "part-0.safetensors").write_bytes(b"half a gigabyte, in truth")
print("written", flush=True)
time.sleep(600)
"""
_PARENT = """
from inference.disaggregation.job import comparison_job
from inference.engine import Engine
from inference.jobs.limits import Limits
from tests.inference.disaggregation.test_faults import ASKS
for report in comparison_job(ASKS).begin(Engine.load("random:tiny"), Limits()):
    print(report.doing, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the moment is found by reading lines; tried on Linux only")
@pytest.mark.parametrize("words", ["timing", "colocated"])
def test_workers_end_when_their_parent_is_killed(words: str, tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    for line in parent.stdout:
        if words in line:
            break
    assert bool(_weights(tmp_path)) is (words == "timing"), "both have read them when they serve"
    orphans = workers(parent.pid)
    assert len(orphans) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert have_ended(orphans)


@pytest.mark.skipif(sys.platform != "linux", reason="the moment is found by reading lines; tried on Linux only")
@pytest.mark.parametrize("words", ["written", "starting", "timing"])
def test_the_weights_go_with_a_killed_parent_though_its_workers_are_stuck(words: str, tmp_path: Path) -> None:
    code = _UNSTARTED if words == "written" else _PARENT
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    for line in parent.stdout:
        if words in line:
            break
    assert _weights(tmp_path)
    stuck = workers(parent.pid)
    for one in stuck:
        one.suspend()  # in a pass that takes long
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while _weights(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _weights(tmp_path)
    for one in stuck:
        one.resume()
    assert have_ended(stuck)


def have_ended(processes: list[psutil.Process]) -> bool:
    """Also one whose end nobody has asked about: not every machine's first process does."""
    deadline = time.monotonic() + 60
    while any(map(_is_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(_is_alive, processes))


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _weights(folder: Path) -> list[Path]:
    return list(folder.rglob("*.safetensors"))
