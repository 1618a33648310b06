"""The tiny model with larger weights, which repeats itself less, and a draft that is often right, not always."""

from functools import cache

import torch

from inference.engine import Engine


@cache
def lively() -> Engine:
    return _shaken(Engine.load("random:tiny"), seed=1, size=0.2)


@cache
def near_draft() -> Engine:
    found = Engine.load("random:tiny")
    found.model.load_state_dict(lively().model.state_dict())
    return _shaken(found, seed=2, size=0.01)


def _shaken(engine: Engine, *, seed: int, size: float) -> Engine:
    rng = torch.Generator().manual_seed(seed)
    for parameter in engine.model.parameters():
        parameter.data += torch.randn(parameter.shape, generator=rng) * size
    return engine
