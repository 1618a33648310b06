"""Finds a model's modules by kind and marks every call of them, for as long as it is asked to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from inference.engine import Engine

Group = Literal["attention", "MLP", "norms", "LM head"]
GROUPS: tuple[Group, ...] = ("attention", "MLP", "norms", "LM head")
Modules = dict[Group, list[Any]]
_ATTENTION, _MLP, _LAYERS = ("self_attn", "attn"), ("mlp",), ("layers", "h")  # in Llama's kind and in GPT-2's


def find_modules(model: Any) -> Modules:
    """The model's modules by kind, found by the names transformers gives them; ValueError if it has others."""
    base = model.base_model
    layers = _child(base, _LAYERS)
    if layers is None:
        raise ValueError(f"{type(model).__name__} has no list of layers named {' or '.join(_LAYERS)}; {_UNKNOWN}")
    modules: Modules = {group: [] for group in GROUPS}
    for number, layer in enumerate(layers):
        attention, mlp = _child(layer, _ATTENTION), _child(layer, _MLP)
        if attention is None or mlp is None:
            names = ", ".join(name for name, _ in layer.named_children())
            raise ValueError(
                f"layer {number} of {type(model).__name__} has {names}, and no attention and MLP as self_attn or "
                f"attn, and mlp; {_UNKNOWN}"
            )
        modules["attention"].append(attention)
        modules["MLP"].append(mlp)
        modules["norms"] += _norms(layer)
    modules["norms"] += _norms(base)
    modules["LM head"].append(model.get_output_embeddings())
    return modules


_UNKNOWN = "its time per module cannot be measured, choose another model"


def _child(module: Any, names: tuple[str, ...]) -> Any:
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def _norms(module: Any) -> list[Any]:
    return [child for child in module.children() if "Norm" in type(child).__name__]


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of one module, between two points of a clock."""

    group: Group
    module: Any
    start: Any
    stop: Any


@contextmanager
def hooked(modules: Modules, now: Callable[[], Any]) -> Iterator[list[ModuleCall]]:
    """While inside, every call of these modules adds a span; afterwards the model is as it was."""
    spans: list[ModuleCall] = []
    starts: dict[int, Any] = {}
    handles: list[Any] = []

    def watch(group: Group, module: Any) -> None:
        def before(module: Any, args: Any) -> None:
            starts[id(module)] = now()

        def after(module: Any, args: Any, output: Any) -> None:
            spans.append(ModuleCall(group, module, starts[id(module)], now()))

        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after))

    try:
        for group, members in modules.items():
            for module in members:
                watch(group, module)
        yield spans
    finally:
        for handle in handles:
            handle.remove()


def clock(engine: Engine) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
    """How to mark a moment, and the seconds between two: host time, or CUDA events in the device's stream.

    A pass ends with a copy to the host, so every event has happened when it is read.
    """
    if engine.device.type != "cuda":
        return time.perf_counter, lambda start, stop: stop - start
    import torch  # noqa: PLC0415  # pages import this module before torch may be there

    def event() -> Any:
        mark = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        mark.record()
        return mark

    return event, lambda start, stop: float(start.elapsed_time(stop)) / 1e3
