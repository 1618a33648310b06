"""What a server process has: a model that loads in the background, or says why it did not."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest

from inference.arithmetic.roofline import Ceilings
from inference.engine import Engine
from inference.machine.ceilings import remembered
from inference.run.recipe import Recipe
from inference.server.laboratory import Laboratory

PATIENCE_S = 60


@pytest.fixture
def open_laboratory(
    known_roofs: tuple[Path, Ceilings], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Laboratory]]:
    """Laboratories on a machine whose roofs are known; they are closed after the test."""
    monkeypatch.setenv("TWOPHASES_CACHE", str(known_roofs[0]))
    opened: list[Laboratory] = []

    def make(model: str) -> Laboratory:
        opened.append(Laboratory(model))
        return opened[-1]

    yield make
    for laboratory in opened:
        laboratory.worker.stop()
    gc.unfreeze()


def test_a_model_loads_in_the_background_and_answers(
    known_roofs: tuple[Path, Ceilings], open_laboratory: Callable[[str], Laboratory]
) -> None:
    laboratory = open_laboratory("random:tiny")
    assert (laboratory.status.state, laboratory.runs, laboratory.engine) == ("loading", None, None)
    laboratory.start()
    laboratory.start()  # every page calls it; it loads once
    status = laboratory.wait(PATIENCE_S)
    assert (status.state, status.sentence) == ("ready", "random:tiny is ready")
    assert status.elapsed_s > 0
    assert laboratory.runs is not None
    run = laboratory.runs.start("anna", Recipe("Hello")).result(PATIENCE_S)
    assert len(run.trace.steps) == 1
    assert laboratory.ceilings == known_roofs[1]
    engine = laboratory.engine
    laboratory.start()
    assert laboratory.engine is engine


def test_an_unknown_model_is_told_in_one_sentence_and_can_be_tried_again(
    tiny: Engine, tmp_path: Path, open_laboratory: Callable[[str], Laboratory]
) -> None:
    folder = tmp_path / "model"
    laboratory = open_laboratory(str(folder))
    laboratory.start()
    for _ in range(2):
        laboratory.retry()
        status = laboratory.wait(PATIENCE_S)
        assert status.state == "failed"
        assert str(folder) in status.sentence
        assert "\n" not in status.sentence
        assert laboratory.runs is None
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    laboratory.start()
    assert laboratory.wait(PATIENCE_S).state == "failed", "every page run starts it: that must not load again"
    laboratory.retry()
    assert laboratory.wait(PATIENCE_S).state == "ready"


def test_limits_that_make_no_sense_are_told(
    open_laboratory: Callable[[str], Laboratory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWOPHASES_IDLE_SECONDS", "soon")
    laboratory = open_laboratory("random:tiny")
    laboratory.start()
    status = laboratory.wait(PATIENCE_S)
    assert status.state == "failed"
    assert "TWOPHASES_IDLE_SECONDS" in status.sentence


@pytest.mark.slow
@pytest.mark.measures
def test_the_roofs_of_an_unknown_machine_are_measured_in_the_background(
    open_laboratory: Callable[[str], Laboratory], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    laboratory = open_laboratory("random:tiny")
    assert laboratory.measure_ceilings() is None  # nothing to measure with yet
    laboratory.start()
    laboratory.wait(PATIENCE_S)
    assert laboratory.ceilings_fraction is not None
    assert laboratory.measure_ceilings() is None  # one measurement at a time
    assert laboratory.runs is not None
    run = laboratory.runs.start("anna", Recipe("Hello")).result(PATIENCE_S)  # goes first
    assert len(run.trace.steps) == 1


@pytest.mark.slow
@pytest.mark.measures
def test_roofs_that_a_pass_beat_are_measured_again_once_and_never_get_lower(
    known_roofs: tuple[Path, Ceilings],
    open_laboratory: Callable[[str], Laboratory],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    copytree(known_roofs[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    laboratory = open_laboratory("random:tiny")
    laboratory.start()
    laboratory.wait(PATIENCE_S)
    assert laboratory.doubt_ceilings(share=1.5) is None, "not so soon after the start"
    assert laboratory.ceilings_beaten_by == pytest.approx(0.5)
    monkeypatch.setattr("inference.machine.roof_watch.FIRST_PAUSE_S", 0.0)
    laboratory = open_laboratory("random:tiny")
    laboratory.start()
    laboratory.wait(PATIENCE_S)
    assert laboratory.doubt_ceilings(share=1.0) is None, "no reason"
    measuring = laboratory.doubt_ceilings(share=1.5)
    assert measuring is not None
    assert laboratory.doubt_ceilings(share=1.5) is None, "one at a time"
    new, old = measuring.result(300), known_roofs[1]
    assert new.bandwidth >= old.bandwidth / 1.05
    assert new.overhead_s <= old.overhead_s * 1.05
    assert laboratory.engine is not None
    assert laboratory.ceilings == new == remembered(laboratory.engine)
    assert laboratory.ceilings_beaten_by == 0
