"""What a learner's run of 500 steps keeps beyond its KV cache, counted in two ways.

`tracemalloc` counts what Python allocated and still holds, whoever holds it; it does not see tensors, of which
a run keeps the KV cache (not counted here) and the newest logits (added). The second way walks the run's
objects and adds up their sizes. Resident memory would say more about the allocator than about the run.
"""

import gc
import sys
import tracemalloc
from types import FunctionType, ModuleType

import torch
from transformers import DynamicCache, PreTrainedTokenizerBase

from benchmarks.measurement import Measurement
from benchmarks.models import PROMPT, default_engine
from inference.engine import Engine
from inference.jobs.limits import Limits
from inference.jobs.worker import Worker
from inference.run.recipe import Recipe
from inference.server.owned import Run
from inference.server.runs import Runs

_STEPS = 500
_SHARED = (type, FunctionType, ModuleType, Engine, DynamicCache, PreTrainedTokenizerBase, torch.device, torch.dtype)


def run() -> list[Measurement]:
    worker = Worker()
    runs = Runs(default_engine(), worker, Limits())
    _learn(runs, "warm-up", 3)  # what is made once for all runs is not a run's
    tracemalloc.start()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    learner = _learn(runs, "learner", _STEPS)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    worker.stop()
    last = learner.generation.last
    assert last is not None
    traced = after - before + last.logits.nbytes
    detail = {"logits_bytes": last.logits.nbytes, "kv_bytes": learner.generation.kv_bytes}
    walked = _deep_bytes(learner)
    return [
        Measurement(f"a run of {_STEPS} steps, allocated", traced / 1e6, "MB", limit=5.0, detail=detail),
        Measurement(f"a run of {_STEPS} steps, its objects", walked / 1e6, "MB", limit=5.0, detail=detail),
    ]


def _learn(runs: Runs, learner: str, num_steps: int) -> Run:
    run = runs.start(learner, Recipe(PROMPT, max_new_tokens=num_steps)).result()
    for number in range(1, num_steps):
        runs.advance(learner, number).result()
    assert len(run.trace.steps) == num_steps
    return run


def _deep_bytes(root: object) -> int:
    """Sizes of all objects that hang on `root`, each once; what all runs share is left out."""
    total, seen, todo = 0, set[int](), [root]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, _SHARED):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, torch.Tensor):
            total += item.nbytes
        else:
            todo += gc.get_referents(item)
    return total
