"""How large a trace file may be, checked before anything is made of it: whoever sends one costs everybody time."""

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from inference.trace import Trace

LARGEST_FILE = 32_000_000  # bytes; a run of 8,192 steps is about 15 MB
MOST_STEPS = 8_192
MOST_CELLS = 2_000_000  # positions x layers: what the cache map draws and the estimates of a run walk through
MOST_CANDIDATES = 100
_LONGEST = {"str": 1_000_000, "bytes": 1_000}  # characters of a text, bytes of a token
_MOST_SIGNS = {",": 3_000_000, ":": 1_000_000, "{": 250_000, "[": 250_000}
"""More than the longest run of the deepest model has."""


class TraceError(ValueError):
    """The file is not a trace this version can show; the message says why."""


def check_size(text: str) -> None:
    """Refuse what would fill the memory, before it is parsed: signs are counted in no time."""
    for sign, most in _MOST_SIGNS.items():
        if (count := text.count(sign)) > most:
            raise TraceError(f"the file has {count:,} {sign!r}; a trace has at most {most:,} of them")


def bounded(adapter: TypeAdapter[Any]) -> SchemaValidator:
    """Its validator, which gives up at the first wrong item of a list: a million would be a million errors."""
    waiting: list[Any] = [adapter.core_schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += part.values()
            if part.get("type") in ("list", "tuple"):
                part["fail_fast"] = True
            elif part.get("type") in _LONGEST:
                part["max_length"] = _LONGEST[part["type"]]
        elif isinstance(part, (list, tuple)):
            waiting += part
    return SchemaValidator(adapter.core_schema)


def check_extent(trace: Trace) -> None:
    """Refuse a run that no screen could draw in a moment."""
    num_steps, num_layers = len(trace.steps), trace.metadata.spec.num_layers
    if num_steps > MOST_STEPS:
        raise TraceError(f"the trace has {num_steps:,} steps; at most {MOST_STEPS:,} are shown")
    num_cells = (len(trace.prompt_tokens) + num_steps) * num_layers
    if num_cells > MOST_CELLS:
        raise TraceError(f"the trace has {num_cells:,} positions times layers; at most {MOST_CELLS:,} are shown")
    if not 0 <= trace.metadata.num_left_out <= _LONGEST["str"]:
        raise TraceError(f"metadata.num_left_out must be from 0 to {_LONGEST['str']:,}")
    for place, step in enumerate(trace.steps):
        if not 1 <= len(step.candidates) <= MOST_CANDIDATES:
            raise TraceError(
                f"steps.{place}: there must be from 1 to {MOST_CANDIDATES} candidates, got "
                f"{len(step.candidates):,}; export the trace again as JSON from the app"
            )
