"""Experiments by name: what a lesson may write after `:::experiment`."""

import importlib
import inspect
import pkgutil

import pytest

import pages.ui.experiments
from pages.ui.course.placed import EXPERIMENTS, settings_of
from pages.ui.experiments.batching.batch_sweep import BatchSweepSettings
from pages.ui.experiments.batching.batching import BatchingSettings
from pages.ui.experiments.speculation.speculation import SpeculationSettings


def test_every_experiment_there_is_has_a_name() -> None:
    found = set()
    for info in pkgutil.walk_packages(pages.ui.experiments.__path__, "pages.ui.experiments."):
        for name, one in vars(importlib.import_module(info.name)).items():
            if (
                name[0] != "_"
                and inspect.isfunction(one)
                and list(inspect.signature(one).parameters)
                == [
                    "settings",
                    "key",
                    "is_fixed",
                ]
            ):
                found.add(one)
    assert found == {one.draw for one in EXPERIMENTS.values()}


def test_settings_are_spelled_as_text_and_take_their_types() -> None:
    assert settings_of("batching", 'preset="Burst" slots=4') == BatchingSettings(preset="Burst", slots=4)
    assert settings_of("batch-sweep", "sizes=1,4") == BatchSweepSettings(sizes=(1, 4))
    assert settings_of("speculation", "temperature=0.5") == SpeculationSettings(temperature=0.5)
    assert settings_of("batching", "") == BatchingSettings()


@pytest.mark.parametrize(
    ("name", "spelled", "words"),
    [
        ("nope", "", "no experiment 'nope'; there are agreement, "),
        ("batching", "x=1", "no setting 'x'; there are preset, slots, tokens_per_pass"),
        ("batching", "slots=many", "slots: .*integer.* got 'many'"),
        ("batching", "Burst", "'Burst' is not key=value; quote a value that has spaces"),
        ("batching", "slots=4 slots=5", "'slots' is set twice"),
        ("batching", 'preset="Burst', "No closing quotation"),
        ("operator-table", "phase=encode", "phase: .*'prefill' or 'decode'.* got 'encode'"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(name: str, spelled: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        settings_of(name, spelled)
