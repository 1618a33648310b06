"""Engines and roofs shared by all tests: read-only. A test that changes one loads its own.

Loads the engine's settings before anything loads torch, and tests the default model whatever the shell says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import inference  # noqa: F401

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.roofline import Ceilings

os.environ.pop("TWOPHASES_MODEL", None)


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

    from inference.ceilings import measure  # noqa: PLC0415

    depths: list[int] = []

    def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
        if type(module) is type(tiny.model) and module is not tiny.model:
            depths.append(len(module.model.layers))  # type: ignore[union-attr,arg-type]

    folder = tmp_path_factory.mktemp("cache")
    handle = torch.nn.modules.module.register_module_forward_hook(hook)
    fractions: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOPHASES_CACHE", str(folder))
        work = measure(tiny)
        while True:
            try:
                fractions.append(next(work))
            except StopIteration as end:
                ceilings: Ceilings = end.value
                break
    handle.remove()
    return Measured(folder, ceilings, fractions, depths)
