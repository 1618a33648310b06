"""Traces to and from files: JSON that opens again, CSV for a spreadsheet, and a timeline for Perfetto."""

import csv
import json
import math
from array import array
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import pandas as pd
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import Mla, ModelSpec, Moe
from inference.files.json_text import json_text
from inference.run.trace_bounds import LARGEST_FILE, TraceError, bounded, check_extent, check_size
from inference.trace import Metadata, Step, StopReason, Token, Trace

VERSION: Literal[2] = 2
"""1 knew of no chunks; its files still open."""
LARGEST = 2**53  # of a whole number: a chart in a browser holds none above it exactly
LONGEST_S = 1e6  # of a stage: eleven days
_MEASURED = [field.name for field in fields(Step) if field.name not in ("candidates", "chunks", "raw")]


@dataclass(frozen=True, slots=True)
class _File:
    format: Literal["two-phases-trace"]
    version: Literal[1, 2]
    metadata: Metadata
    prompt: str
    prompt_tokens: tuple[Token, ...]
    steps: list[Step]
    key_norms: list[list[float]]
    ceilings: Ceilings | None
    stop_reason: StopReason | None

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "allow_inf_nan": False,
        "ser_json_bytes": "hex",
        "val_json_bytes": "hex",
    }


@cache
def _adapter() -> TypeAdapter[_File]:
    return TypeAdapter(_File)


@cache
def _validator() -> SchemaValidator:
    return bounded(TypeAdapter(_File))


def to_json(trace: Trace) -> str:
    file = _File(
        format="two-phases-trace",
        version=VERSION,
        metadata=trace.metadata,
        prompt=trace.prompt,
        prompt_tokens=trace.prompt_tokens,
        steps=trace.steps,
        key_norms=[[float(f"{norm:.4g}") for norm in column] for column in trace.key_norms],
        ceilings=trace.ceilings,
        stop_reason=trace.stop_reason,
    )
    return _adapter().dump_json(file).decode()


def from_json(content: str | bytes) -> Trace:
    if len(content) > LARGEST_FILE:
        raise TraceError(f"the file has {len(content):,} bytes; a trace has at most {LARGEST_FILE:,}")
    try:
        text = json_text(content)
    except ValueError as error:
        raise TraceError(str(error)) from None
    check_size(text)
    try:
        file: _File = _validator().validate_json(text)
    except ValidationError as error:
        raise TraceError(_first_problem(error)) from None
    except ArithmeticError:
        raise TraceError(
            "metadata.spec: no model has this shape; export the trace again as JSON from the app"
        ) from None
    trace = Trace(
        metadata=file.metadata,
        prompt=file.prompt,
        prompt_tokens=file.prompt_tokens,
        steps=file.steps,
        key_norms=[array("f", column) for column in file.key_norms],
        ceilings=file.ceilings,
        stop_reason=file.stop_reason,
    )
    _check_story(trace)
    return trace


def _first_problem(error: ValidationError) -> str:
    if error.error_count() > 1_000:  # a list of them would take seconds
        return (
            f"the file has {error.error_count():,} fields that no trace has; export it again as JSON from the app"
        )
    problem = error.errors(include_url=False, include_input=False)[0]
    if problem["type"] == "json_invalid":
        return "the file is not valid JSON; export it again as JSON from the app"
    place = ".".join(str(part) for part in problem["loc"]) or "the file"
    if place == "version":
        return f"the file has another trace version than {VERSION}; open it with the version that wrote it"
    return f"{place[:80]}: {problem['msg'][:120]}; export the trace again as JSON from the app"


def _check_story(trace: Trace) -> None:
    """Refuse a file whose steps could not have happened: the screen would show nonsense as measured."""
    _check_shape(trace.metadata.spec)
    num_prompt, num_layers = len(trace.prompt_tokens), trace.metadata.spec.num_layers
    if num_prompt == 0 or not trace.steps:
        raise TraceError("the trace has no prompt or no steps; record at least the prefill")
    check_extent(trace)
    starts = [start for start, _ in trace.metadata.sampling]
    if starts[:1] != [0] or any(later <= earlier for earlier, later in pairwise(starts)):
        raise TraceError("metadata.sampling: the entries must start at step 0 and rise")
    token_ids = set(trace.token_ids) | {choice.token_id for step in trace.steps for choice in step.candidates}
    if not 0 <= min(token_ids) <= max(token_ids) < trace.metadata.spec.vocab_size:
        raise TraceError(f"a token id is outside the vocabulary of {trace.metadata.spec.vocab_size:,}")
    for place, step in enumerate(trace.steps):
        expected = ("prefill", num_prompt) if place == 0 else ("decode", 1)
        if (step.index, step.phase, step.num_query_tokens) != (place, *expected):
            raise TraceError(f"steps.{place}: expected step {place} to be a {expected[0]} of {expected[1]} tokens")
        if step.context_len != num_prompt + place:
            raise TraceError(
                f"steps.{place}: context_len must be {num_prompt + place}, got {step.context_len!r:.40}"
            )
        times = (
            step.tokenize_s,
            step.queue_s,
            step.rebuild_s,
            step.forward_s,
            step.sample_s,
            step.detokenize_s,
            step.device_s or 0,
        )
        is_timed = min(times) >= 0 and step.forward_s > 0 and max(times) <= LONGEST_S
        if not is_timed or not 0 <= step.kv_bytes <= LARGEST or step.logprob > 0 or step.entropy < 0:
            raise TraceError(f"steps.{place}: a time, a size or a probability is out of range")
        _check_chunks(step)
        if any(not 0 <= c.probability <= 1 or not 0 <= c.sampling_probability <= 1 for c in step.candidates):
            raise TraceError(f"steps.{place}: a candidate's probability is not between 0 and 1")
    if trace.key_norms and len(trace.key_norms) != trace.steps[-1].context_len:
        raise TraceError(f"key_norms must have {trace.steps[-1].context_len} columns, got {len(trace.key_norms)}")
    if any(len(column) != num_layers for column in trace.key_norms):
        raise TraceError(f"key_norms must have {num_layers} layers in every column")
    if any(not 0 <= norm < math.inf for column in trace.key_norms for norm in column):
        raise TraceError("key_norms: a norm must be a number from 0")
    roofs = trace.ceilings
    if roofs and (min(roofs.bandwidth, roofs.flops) <= 0 or roofs.overhead_s < 0):
        raise TraceError("ceilings: bandwidth and flops must be above 0, overhead_s 0 or more")


def _check_chunks(step: Step) -> None:
    if not step.chunks:
        return
    num_fed, took_s = sum(c.num_query_tokens for c in step.chunks), math.fsum(c.forward_s for c in step.chunks)
    is_whole = num_fed == step.num_query_tokens and math.isclose(took_s, step.forward_s, rel_tol=1e-6)
    if not is_whole or any(c.num_query_tokens < 1 or c.forward_s <= 0 for c in step.chunks):
        raise TraceError(f"steps.{step.index}: its chunks must add up to the tokens and the time of the pass")


def _check_shape(spec: ModelSpec) -> None:
    """Refuse sizes that no model has: estimates divide by them."""
    may_be_0 = {"num_shared_experts", "num_dense_layers"}
    parts: list[ModelSpec | Mla | Moe] = [part for part in (spec, spec.mla, spec.moe) if part is not None]
    for part in parts:
        for name in (field.name for field in fields(part)):
            size = getattr(part, name)
            is_size = isinstance(size, (int, float)) and not isinstance(size, bool)
            if is_size and not (0 if name in may_be_0 else 1) <= size <= LARGEST:
                raise TraceError(f"metadata.spec: {name} must be from 1 to {LARGEST:,}, got {size!r:.40}")
    if any(window is not None and window < 1 for window in spec.layer_windows):
        raise TraceError("metadata.spec: a layer's window must be 1 token or more")


def to_frame(trace: Trace) -> pd.DataFrame:
    rows = [[getattr(step, name) for name in _MEASURED] for step in trace.steps]
    return pd.DataFrame(rows, columns=_MEASURED)


def to_csv(trace: Trace) -> str:
    """One line per step. Text cells that a spreadsheet would run as a formula start with an apostrophe."""
    frame = to_frame(trace)
    frame["text"] = frame["text"].map(harmless_cell)
    # bare, a carriage return inside a text would start a new line
    return frame.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)


def harmless_cell(text: str) -> str:
    """Source: OWASP ASVS 1.2.10."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "\0") else text.replace("\0", "␀")


def to_perfetto(trace: Trace) -> str:
    """Chrome trace events (opens in ui.perfetto.dev): the stages of every step, end to end, in microseconds.

    The learner's pauses are left out, so the timeline is the run as if nobody had waited between steps.
    """
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": trace.metadata.model}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "one run, measured"}},
    ]
    now = 0.0
    for step in trace.steps:
        for stage in ("tokenize", "queue", "rebuild", "forward", "sample", "detokenize"):
            seconds = getattr(step, f"{stage}_s")
            if seconds > 0:
                name = step.phase if stage == "forward" else stage
                args = {"step": step.number, "context_len": step.context_len, "token": step.text}
                chunks = step.chunks if stage == "forward" else ()
                parts = [chunk.forward_s for chunk in chunks] or [seconds]
                starts = [now + sum(parts[:place]) for place in range(len(parts))]
                events += [
                    {"ph": "X", "pid": 1, "tid": 1, "name": name, "cat": step.phase}
                    | {"ts": start * 1e6, "dur": part * 1e6, "args": args}
                    for start, part in zip(starts, parts, strict=True)
                ]
            now += seconds
        events.append(
            {"ph": "C", "pid": 1, "name": "KV cache bytes", "ts": now * 1e6, "args": {"bytes": step.kv_bytes}}
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
