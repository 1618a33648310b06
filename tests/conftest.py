"""Engines and roofs shared by all tests: read-only. A test that changes one loads its own.

Loads the engine's settings before anything loads torch, and tests the default model whatever the shell says.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import inference  # noqa: F401

if TYPE_CHECKING:
    from inference.arithmetic.roofline import Ceilings
    from inference.engine import Engine

os.environ.pop("TWOPHASES_MODEL", None)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: no collection of garbage walks through it again."""
    gc.freeze()


@pytest.fixture(scope="session")
def tiny() -> Engine:
    """Two layers of random weights, one token per byte, a context of 512."""
    from inference.engine import Engine  # noqa: PLC0415

    return Engine.load("random:tiny")


@pytest.fixture(scope="session")
def real() -> Engine:
    """The default model, for tests marked real_model."""
    from inference.engine import Engine  # noqa: PLC0415

    return Engine.load()


@pytest.fixture(scope="session")
def known_roofs(tiny: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ceilings]:
    """A cache folder in which round roofs of this machine are remembered, so that nothing has to be measured."""
    from inference.arithmetic.roofline import Ceilings, Spread  # noqa: PLC0415
    from inference.device import device_name  # noqa: PLC0415
    from inference.machine.ceilings import remember  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("known")
    roofs = Ceilings(
        device=device_name(tiny.device),
        dtype="float32",
        bandwidth=10e9,
        flops=100e9,
        overhead_s=0.0005,
        measured_on="2026-11-30",
        threads=2,
        matmul_ladder=tuple((2**power, max(4 / 10e9, 2 * 2**power / 100e9)) for power in range(12)),
        attention_flops=50e9,
        elementwise_s=1e-9,
        spreads=(
            Spread("read bandwidth", 9.5e9, 9.7e9, 9.9e9),
            Spread("matmul rate", 95e9, 97e9, 99e9),
            Spread("overhead of a pass", 0.00051, 0.00052, 0.00053),
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOPHASES_CACHE", str(folder))
        remember(tiny, roofs)
    return folder, roofs


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of this machine's roofs, with what it said and ran on the way."""

    folder: Path
    """The cache folder in which it is remembered."""
    ceilings: Ceilings
    fractions: list[float]
    twin_depths: list[int]
    """Layers of the model of each pass that was not the engine's own model."""


@pytest.fixture(scope="session")
def measured(tiny: Engine, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    import torch  # noqa: PLC0415

    from inference.jobs.drive import drained  # noqa: PLC0415
    from inference.machine.ceilings import measure  # noqa: PLC0415

    depths: list[int] = []

    def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
        if type(module) is type(tiny.model) and module is not tiny.model:
            depths.append(len(module.model.layers))  # type: ignore[union-attr,arg-type]

    folder = tmp_path_factory.mktemp("cache")
    handle = torch.nn.modules.module.register_module_forward_hook(hook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOPHASES_CACHE", str(folder))
        ceilings, fractions = drained(measure(tiny))
    handle.remove()
    return Measured(folder, ceilings, fractions, depths)
