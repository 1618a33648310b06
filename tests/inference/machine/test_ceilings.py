"""This machine's roofs, measured once for all tests."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from inference.arithmetic.roofline import Ceilings
from inference.device import device_name
from inference.engine import Engine
from inference.machine.ceilings import remembered
from inference.machine.roof_parts import LADDER
from tests.conftest import Measured

pytestmark = [pytest.mark.slow, pytest.mark.measures]


def test_measuring_says_how_far_it_is(measured: Measured) -> None:
    assert measured.fractions == sorted(measured.fractions)
    assert all(0 <= fraction < 1 for fraction in measured.fractions)
    assert len(set(measured.fractions)) > 20


def test_every_roof_is_above_zero(tiny: Engine, measured: Measured) -> None:
    roofs = measured.ceilings
    assert min(roofs.bandwidth, roofs.flops, roofs.overhead_s, roofs.threads) > 0
    assert roofs.ridge_point > 0
    assert roofs.device == device_name(tiny.device)
    assert roofs.dtype == "float32"


def test_the_overhead_is_measured_on_a_twin_of_the_same_depth(tiny: Engine, measured: Measured) -> None:
    assert len(measured.twin_depths) > 10
    assert set(measured.twin_depths) == {tiny.spec.num_layers}


def test_measured_roofs_are_remembered_as_long_as_their_file_is_there(
    tiny: Engine, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(measured.folder))
    assert remembered(tiny) == measured.ceilings
    (path,) = (measured.folder / "ceilings").iterdir()
    content = path.read_text()
    path.unlink()
    assert remembered(tiny) is None
    path.write_text(content)
    assert remembered(tiny) == measured.ceilings


@pytest.mark.parametrize("content", ["", "null", "[1]", "{}", '{"device": "CPU"}', '{"unknown": 1}', "\0"])
def test_a_broken_memory_counts_as_none(
    tiny: Engine, measured: Measured, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(measured.folder))
    (path,) = (measured.folder / "ceilings").iterdir()
    before = path.read_text()
    path.write_text(content)
    assert remembered(tiny) is None
    path.write_text(before)


def test_another_dtype_or_folder_remembers_nothing(
    measured: Measured, tiny: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(measured.folder))
    assert remembered(Engine.load("random:tiny", dtype="bfloat16")) is None
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    assert remembered(tiny) is None


def test_a_roof_has_a_date_and_a_place(measured: Measured) -> None:
    assert {field.name for field in fields(Ceilings)} >= {"device", "dtype", "measured_on", "threads"}
    assert len(measured.ceilings.measured_on) == len("2025-01-01")


def test_the_ladder_is_measured_at_rising_numbers_of_tokens(measured: Measured) -> None:
    tokens = [num_tokens for num_tokens, _ in measured.ceilings.matmul_ladder]
    assert tokens[0] == 1
    assert tokens == sorted(set(tokens))
    assert all(seconds > 0 for _, seconds in measured.ceilings.matmul_ladder)


def test_what_stands_between_the_products_takes_time(measured: Measured) -> None:
    assert 0 < measured.ceilings.elementwise_s < 1e-6


def test_roofs_remembered_without_their_spread_are_measured_again(
    tiny: Engine, measured: Measured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TWOPHASES_CACHE", str(tmp_path))
    (old,) = measured.folder.rglob("ceilings/*.json")
    content = json.loads(old.read_text())
    new = tmp_path / "ceilings" / old.name
    new.parent.mkdir()
    new.write_text(json.dumps(content))
    assert remembered(tiny) == measured.ceilings
    del content["spreads"]
    new.write_text(json.dumps(content))
    assert remembered(tiny) is None


def test_every_roof_is_the_best_of_repeats_whose_spread_is_kept(measured: Measured) -> None:
    roofs = measured.ceilings
    reading, multiplying, overhead = roofs.spreads
    assert [one.roof for one in roofs.spreads] == ["read bandwidth", "matmul rate", "overhead of a pass"]
    for one in roofs.spreads:
        assert 0 < one.lower <= one.median <= one.upper
    assert reading.upper <= roofs.bandwidth
    assert multiplying.upper <= roofs.flops
    assert overhead.lower >= roofs.overhead_s


def test_it_says_what_it_did_not_measure(measured: Measured) -> None:
    roofs = measured.ceilings
    is_whole = len(roofs.matmul_ladder) == len(LADDER)
    assert is_whole or "Not measured, nor anything larger: " in roofs.left_out[-1]
    assert is_whole or f"the model's products of {LADDER[len(roofs.matmul_ladder)]:,} tokens" in roofs.left_out[-1]
