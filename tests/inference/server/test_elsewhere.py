"""The engine in a process of its own: the same answers as in this one, and nothing lost when it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import psutil
import pytest

from inference.arithmetic.roofline import Ceilings
from inference.batching.prefill import prefill_batching_job
from inference.jobs.experiments import Experiment, Job, Report, Reports
from inference.jobs.worker import BusyError
from inference.kv_cache.tensors import ValueNorms, measured_cache_job, value_norms_job
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.sampling_lab.next_token import NextToken, step_job
from inference.server import elsewhere
from inference.server.elsewhere import LaboratoryElsewhere
from inference.server.laboratory import Laboratory
from inference.server.owned import Run
from inference.trace import Trace

pytestmark = pytest.mark.slow  # starts processes

PATIENCE_S = 60
RECIPE = Recipe("Hello", max_new_tokens=40)
SAMPLED = SamplingParams(temperature=1.5, seed=3)


@pytest.fixture(scope="module")
def cache(known_roofs: tuple[Path, Ceilings], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this module's own: what is measured here is kept there."""
    return copytree(known_roofs[0], tmp_path_factory.mktemp("cache"), dirs_exist_ok=True)


@pytest.fixture
def open_laboratory(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], LaboratoryElsewhere]]:
    """Ready ones; their processes end with the test."""
    monkeypatch.setenv("TWOPHASES_CACHE", str(cache))
    opened: list[LaboratoryElsewhere] = []

    def make(model: str = "random:tiny") -> LaboratoryElsewhere:
        opened.append(LaboratoryElsewhere(model))
        opened[-1].start()
        opened[-1].wait(PATIENCE_S)
        return opened[-1]

    yield make
    for laboratory in opened:
        laboratory.stop()


@pytest.fixture(scope="module")
def shared(cache: Path) -> Iterator[LaboratoryElsewhere]:
    """One for all tests that do it no harm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOPHASES_CACHE", str(cache))
        laboratory = LaboratoryElsewhere("random:tiny")
        laboratory.start()
        assert laboratory.wait(PATIENCE_S).state == "ready"
    yield laboratory
    laboratory.stop()


def told(trace: Trace) -> list[tuple[int, str, int, str]]:
    """What a run says, without its times."""
    return [(step.token_id, step.text, step.context_len, f"{step.logprob:.4f}") for step in trace.steps]


def run_through(laboratory: LaboratoryElsewhere | Laboratory, learner: str) -> Run:
    """A prefill, steps, a fork with another token and one with other settings."""
    assert laboratory.runs is not None
    runs = laboratory.runs
    run = runs.start(learner, RECIPE).result(PATIENCE_S)
    for expected in (1, 2, 3):
        runs.advance(learner, expected).result(PATIENCE_S)
    token_id = run.trace.steps[1].candidates[3].token_id
    runs.branch(learner, 4, index=1, token_id=token_id).result(PATIENCE_S)
    runs.advance(learner, 2, params=SAMPLED).result(PATIENCE_S)
    runs.branch(learner, 3, index=0, params=SAMPLED).result(PATIENCE_S)
    return run


def test_a_run_in_the_other_process_is_the_run_in_this_one(
    shared: LaboratoryElsewhere, known_roofs: tuple[Path, Ceilings]
) -> None:
    here = Laboratory("random:tiny")
    here.start()
    assert here.wait(PATIENCE_S).state == "ready"
    ours, theirs = run_through(here, "anna"), run_through(shared, "anna")
    assert told(theirs.trace) == told(ours.trace)
    assert list(map(told, theirs.branches)) == list(map(told, ours.branches))
    assert len(theirs.branches) == 2
    assert theirs.recipe == ours.recipe
    assert [len(norms) for norms in theirs.trace.key_norms] == [len(norms) for norms in ours.trace.key_norms]
    assert shared.ceilings == known_roofs[1]
    assert shared.engine is not None
    assert here.engine is not None
    assert (shared.engine.spec, shared.engine.is_on_cpu) == (here.engine.spec, here.engine.is_on_cpu)
    here.stop()


def test_what_cannot_be_asked_for_is_refused_in_the_same_words(shared: LaboratoryElsewhere) -> None:
    runs = shared.runs
    assert runs is not None
    with pytest.raises(ValueError, match="Maximum new tokens"):
        runs.start("ben", Recipe("Hello", max_new_tokens=10**6))
    with pytest.raises(ValueError, match="513 tokens"):
        runs.start("ben", Recipe("x" * 513)).result(PATIENCE_S)
    with pytest.raises(BusyError, match="no longer on the server"):
        runs.advance("nobody", 1)
    run = runs.start("ben", RECIPE).result(PATIENCE_S)
    runs.advance("ben", 1).result(PATIENCE_S)
    refused = runs.branch("ben", 2, index=0, token_id=2**31)
    with pytest.raises(ValueError, match="not in the vocabulary of 320"):
        refused.result(PATIENCE_S)
    assert [step.index for step in run.trace.steps] == [0], "rewound before the token was refused, and told so"


def test_a_run_put_aside_comes_back_and_a_forgotten_one_does_not(shared: LaboratoryElsewhere) -> None:
    runs = shared.runs
    assert runs is not None
    run = runs.start("carl", RECIPE).result(PATIENCE_S)
    runs.put_aside("carl")
    assert (runs.get("carl"), runs.is_aside("carl")) == (None, True)
    runs.bring_back("carl")
    assert runs.get("carl") is run
    assert len(runs.advance("carl", 1).result(PATIENCE_S).trace.steps) == 2
    assert runs.advance("carl", 1).result(PATIENCE_S) is run, "a press that comes twice"
    assert len(run.trace.steps) == 2
    runs.forget("carl")
    assert runs.get("carl") is None


def finished(laboratory: LaboratoryElsewhere, job: Job[object], learner: str = "") -> Experiment[object]:
    assert laboratory.experiments is not None
    experiment = laboratory.experiments.start(job, learner)
    until_s = time.monotonic() + PATIENCE_S
    while experiment.is_running and time.monotonic() < until_s:
        time.sleep(0.01)
    return experiment


def test_measurements_run_there_and_are_kept_for_here(shared: LaboratoryElsewhere) -> None:
    job = measured_cache_job(300)
    experiment = finished(shared, job)  # type: ignore[arg-type]
    assert (experiment.state, experiment.problem, experiment.report.fraction) == ("done", "", 1.0)
    assert shared.experiments is not None
    again = shared.experiments.get(job, "another")
    assert again is experiment
    assert experiment.result is not None
    with pytest.raises(ValueError, match="cannot be filled"):
        finished(shared, measured_cache_job(513))  # type: ignore[arg-type]


def test_jobs_of_a_live_run_find_it_there(shared: LaboratoryElsewhere) -> None:
    assert shared.runs is not None
    run = shared.runs.start("dora", RECIPE).result(PATIENCE_S)
    norms = finished(shared, value_norms_job(run.generation, run.trace.steps), "dora").result  # type: ignore[arg-type]
    assert isinstance(norms, ValueNorms)
    assert len(norms.columns) == run.trace.steps[-1].context_len
    found = finished(shared, step_job(run.generation, run.trace.token_ids[:-1], 0), "dora").result  # type: ignore[arg-type]
    assert isinstance(found, NextToken)
    assert int(found.logits.argmax()) == run.trace.steps[0].token_id
    assert shared.engine is not None
    assert found.vocabulary is shared.engine.token_bytes, "49,000 tokens are not sent again"


def test_one_that_is_cancelled_stops_there(shared: LaboratoryElsewhere, tmp_path: Path) -> None:
    marks = tmp_path / "marks"

    def begin(engine: object, limits: object) -> Reports[int]:
        for done in range(10_000):
            marks.write_text(str(done))
            yield Report(done / 10_000, done)
        return 10_000

    assert shared.experiments is not None
    experiment = shared.experiments.start(Job("endless", int, begin, is_kept=False), "anna")
    until_s = time.monotonic() + PATIENCE_S
    while experiment.report.partial is None and time.monotonic() < until_s:
        time.sleep(0.01)
    assert shared.experiments.cancel(experiment.job, "anna")
    assert experiment.state == "cancelled"
    assert shared.with_engine(lambda engine: engine.name) == "random:tiny"
    seen = [marks.read_text()]

    def stands_still() -> bool:
        time.sleep(0.3)
        seen.append(marks.read_text())
        return seen[-1] == seen[-2]

    assert wait_until(stands_still, 5)


def wait_until(holds: Callable[[], bool], within_s: float) -> bool:
    until_s = time.monotonic() + within_s
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.02)
    return holds()


def test_when_it_is_killed_that_is_said_within_two_seconds_and_the_run_goes_on(
    open_laboratory: Callable[[], LaboratoryElsewhere],
) -> None:
    laboratory = open_laboratory()
    runs, old = laboratory.runs, laboratory.pid
    assert runs is not None
    assert old is not None
    run = runs.start("anna", RECIPE).result(PATIENCE_S)
    unbroken = runs.start("ben", RECIPE).result(PATIENCE_S)
    runs.start("carl", RECIPE).result(PATIENCE_S)
    for expected in range(1, 8):
        runs.advance("ben", expected).result(PATIENCE_S)
    for expected in range(1, 4):
        runs.advance("anna", expected).result(PATIENCE_S)
    runs.put_aside("carl")
    os.kill(old, signal.SIGKILL)
    assert wait_until(lambda: laboratory.is_away, 2)
    assert laboratory.ceilings is not None, "they are the machine's, not the process's"
    assert "was killed" in laboratory.status.sentence
    on_its_way = runs.advance("anna", 4)  # pressed while there is no engine
    assert len(run.trace.steps) == 4, "nothing that was answered is lost"
    assert on_its_way.result(PATIENCE_S) is run
    assert laboratory.pid != old
    for expected in range(5, 8):
        runs.advance("anna", expected).result(PATIENCE_S)
    assert told(run.trace) == told(unbroken.trace)
    assert run.trace.steps[4].rebuild_s > 0
    runs.bring_back("carl")
    assert len(runs.advance("carl", 1).result(PATIENCE_S).trace.steps) == 2
    assert laboratory.wait(PATIENCE_S).state == "ready"
    assert not laboratory.is_away


def test_a_pass_that_was_in_hand_is_run_again_and_a_measurement_keeps_what_it_had(
    open_laboratory: Callable[[], LaboratoryElsewhere],
) -> None:
    laboratory = open_laboratory()
    assert laboratory.runs is not None
    assert laboratory.experiments is not None
    run = laboratory.runs.start("anna", RECIPE).result(PATIENCE_S)
    experiment = laboratory.experiments.start(prefill_batching_job((4, 8, 16, 32, 64, 128)), "anna")
    assert wait_until(lambda: experiment.report.partial is not None, PATIENCE_S)
    assert laboratory.pid is not None
    os.kill(laboratory.pid, signal.SIGSTOP)
    pending = laboratory.runs.advance("anna", 1)
    os.kill(laboratory.pid, signal.SIGKILL)
    assert pending.result(PATIENCE_S) is run
    assert len(run.trace.steps) == 2
    assert wait_until(lambda: experiment.state == "failed", PATIENCE_S)
    assert "measure again" in experiment.problem
    assert experiment.result == experiment.report.partial


def test_silence_is_said_and_ends_a_process_that_hangs(
    open_laboratory: Callable[[], LaboratoryElsewhere], monkeypatch: pytest.MonkeyPatch
) -> None:
    laboratory = open_laboratory()
    assert laboratory.pid is not None
    os.kill(laboratory.pid, signal.SIGSTOP)
    assert wait_until(lambda: "has not answered for" in laboratory.status.sentence, elsewhere.SILENCE_S + 2)
    os.kill(laboratory.pid, signal.SIGCONT)
    assert wait_until(lambda: laboratory.status.state == "ready", PATIENCE_S)
    old = laboratory.pid
    monkeypatch.setattr(elsewhere, "HANG_S", 3.0)
    os.kill(old, signal.SIGSTOP)
    assert wait_until(lambda: laboratory.pid not in (None, old), PATIENCE_S)
    assert laboratory.wait(PATIENCE_S).state == "ready"


def test_a_pass_that_uses_no_processor_for_long_is_a_hang(
    open_laboratory: Callable[[], LaboratoryElsewhere], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(engine: object, limits: object) -> Reports[int]:
        yield Report(0.0)
        time.sleep(3600)
        return 0

    monkeypatch.setattr(elsewhere, "HANG_S", 3.0)
    laboratory = open_laboratory()
    old = laboratory.pid
    experiment = finished(laboratory, Job("stuck", int, begin, is_kept=False))  # type: ignore[arg-type]
    assert "was stuck in a pass for 3 s during this measurement" in experiment.problem
    assert wait_until(lambda: laboratory.pid != old, PATIENCE_S)


def test_one_that_ends_again_and_again_is_left_alone_until_somebody_asks(
    open_laboratory: Callable[[], LaboratoryElsewhere], monkeypatch: pytest.MonkeyPatch
) -> None:
    laboratory = open_laboratory()
    assert laboratory.runs is not None
    run = laboratory.runs.start("anna", RECIPE).result(PATIENCE_S)
    monkeypatch.setattr(elsewhere, "MOST_LOSSES", 2)
    assert laboratory.pid is not None
    os.kill(laboratory.pid, signal.SIGSTOP)  # the pass is with the process, and never answered
    pending = laboratory.runs.advance("anna", 1)
    for _ in range(2):
        old = laboratory.pid
        assert old is not None
        os.kill(old, signal.SIGKILL)
        assert wait_until(lambda old=old: laboratory.pid != old or laboratory.status.state == "failed", PATIENCE_S)  # type: ignore[misc]
    assert laboratory.status.state == "failed"
    assert "2 times within" in laboratory.status.sentence
    with pytest.raises(BusyError, match="twice at this pass"):
        pending.result(PATIENCE_S)
    laboratory.retry()
    assert laboratory.wait(PATIENCE_S).state == "ready"
    assert laboratory.runs.advance("anna", 1).result(PATIENCE_S) is run


def test_a_model_that_cannot_be_loaded_is_told_and_can_be_tried_again(
    open_laboratory: Callable[[str], LaboratoryElsewhere], tmp_path: Path
) -> None:
    laboratory = open_laboratory(str(tmp_path / "model"))
    assert laboratory.status.state == "failed"
    assert "model" in laboratory.status.sentence
    assert laboratory.runs is None
    laboratory.retry()
    assert laboratory.wait(PATIENCE_S).state == "failed"


def test_it_ends_with_the_process_of_the_pages_however_that_ends(cache: Path) -> None:
    code = (
        "import time; from inference.server.elsewhere import LaboratoryElsewhere\n"
        "lab = LaboratoryElsewhere('random:tiny'); lab.start(); lab.wait(60)\n"
        "import sys; assert 'torch' not in sys.modules, 'pages must not wait for torch'\n"
        "print(lab.pid, flush=True); time.sleep(600)"
    )
    environment = os.environ | {"TWOPHASES_CACHE": str(cache)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as pages:
        assert pages.stdout is not None
        pid = int(pages.stdout.readline())
        assert _is_alive(pid)
        pages.kill()
    assert wait_until(lambda: not _is_alive(pid), 10)


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_it_has_the_face_of_the_laboratory() -> None:
    public = {name for name in vars(Laboratory) if not name.startswith("_")}
    assert public <= set(dir(LaboratoryElsewhere))
