"""A trace to and from files: what is written opens again, and what could not have happened is refused."""

import csv
import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inference.arithmetic.roofline import Ceilings
from inference.engine import Engine
from inference.generation import Generation
from inference.run import trace_io
from inference.run.params import SamplingParams
from inference.run.trace_bounds import TraceError
from inference.run.trace_io import harmless_cell, to_csv, to_perfetto
from inference.trace import Trace
from tests.inference.passes import advance

ROOFS = Ceilings(
    device="CPU", dtype="float32", bandwidth=2e10, flops=3e11, overhead_s=0.01, measured_on="2025-01-01", threads=2
)
LESSON_TRACES = sorted((Path(__file__).parents[2] / "lessons" / "traces").glob("*.json"))


@pytest.fixture(scope="module")
def trace(tiny: Engine) -> Trace:
    """Sampled, forked, with settings changed on the way, a cache given up, and half characters in its text."""
    params = SamplingParams(temperature=1.5, top_k=40, logit_bias={70: 1.25}, seed=5)
    run = Generation(tiny, "Hello 🧑‍🚀", params, 30, chat_template=True, stop=["never", "\N{SNOWMAN}"])
    advance(run, 6)
    run.fork(run.trace.steps[-1].candidates[3].token_id)
    run.set_params(SamplingParams())
    advance(run, 4)
    run.release_cache()
    run.set_params(replace(params, temperature_last=True))
    advance(run, 30)
    run.trace.ceilings = ROOFS
    return run.trace


def test_a_trace_opens_again_exactly(trace: Trace) -> None:
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.to_json() == trace.to_json()
    assert Trace.from_json(trace.to_json().encode()) == trace


def test_an_unfinished_trace_opens_again(tiny: Engine) -> None:
    run = Generation(tiny, "Hello")
    advance(run, 1)
    run.set_params(SamplingParams(temperature=1.0))  # for a step that has not been taken
    again = Trace.from_json(run.trace.to_json())
    assert (again.steps, again.stop_reason) == (run.trace.steps, None)


@pytest.mark.parametrize("path", LESSON_TRACES, ids=lambda path: path.stem)
def test_every_recorded_trace_opens(path: Path) -> None:
    assert Trace.from_json(path.read_bytes()).steps


# Derived numbers


def test_times_add_up(trace: Trace) -> None:
    assert trace.ttft_s == trace.steps[0].latency_s
    assert len(trace.itl_s) == len(trace.steps) - 1
    assert trace.ttft_s + sum(trace.itl_s) == pytest.approx(trace.e2e_s)
    first = trace.steps[0]
    parts = (first.tokenize_s, first.queue_s, first.forward_s, first.sample_s, first.detokenize_s)
    assert first.tokenize_s > 0
    assert first.latency_s == pytest.approx(sum(parts))


def test_until_is_the_run_as_it_stood(trace: Trace) -> None:
    before = trace.until(3)
    assert before.steps == trace.steps[:4]
    assert len(before.key_norms) == before.steps[-1].context_len
    assert before.stop_reason is None
    assert trace.until(len(trace.steps) - 1) == trace
    assert trace.until(-1).steps == []


# Files that are no trace


def changed(trace: Trace, change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(trace.to_json())
    change(document)
    return json.dumps(document)


def at(*path: str | int) -> Callable[[dict[str, Any]], Any]:
    def find(document: Any) -> Any:
        for part in path:
            document = document[part]
        return document

    return find


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        at(*path[:-1])(document)[path[-1]] = value

    return change


SPEC = ("metadata", "spec")
FIRST_SETTINGS = ("metadata", "sampling", 0, 1)
IMPOSSIBLE = {
    "no format": lambda d: d.pop("format"),
    "another format": put("format", value="chrome-trace"),
    "a later version": put("version", value=3),
    "an unknown key": put("extra", value=1),
    "an unknown key in a step": put("steps", 0, "extra", value=1),
    "an unknown key in the settings": put(*FIRST_SETTINGS, "heat", value=1),
    "a missing key": lambda d: d["steps"][0].pop("phase"),
    "NaN": put("steps", 0, "entropy", value=float("nan")),
    "infinity": put("steps", 0, "forward_s", value=float("inf")),
    "a negative time": put("steps", 0, "queue_s", value=-1e-9),
    "a pass of no time": put("steps", 1, "forward_s", value=0),
    "a pass of ages": put("steps", 1, "forward_s", value=1e300),
    "a negative device time": put("steps", 1, "device_s", value=-1),
    "a certain surprise": put("steps", 1, "logprob", value=0.5),
    "a negative entropy": put("steps", 1, "entropy", value=-0.5),
    "a negative size": put("steps", 1, "kv_bytes", value=-1),
    "decode first": put("steps", 0, "phase", value="decode"),
    "prefill twice": put("steps", 1, "phase", value="prefill"),
    "another phase": put("steps", 1, "phase", value="think"),
    "steps out of order": lambda d: d["steps"].reverse(),
    "a step left out": lambda d: d["steps"].pop(2),
    "no steps": put("steps", value=[]),
    "no prompt": put("prompt_tokens", value=[]),
    "the newest token in the cache": lambda d: [s.update(context_len=s["context_len"] + 1) for s in d["steps"]],
    "a wrong context": put("steps", 2, "context_len", value=5),
    "two tokens in a decode": put("steps", 1, "num_query_tokens", value=2),
    "a huge context": put("steps", 2, "context_len", value=10**400),
    "a huge index": put("steps", 2, "index", value=10**400),
    "a huge cache": put("steps", 2, "kv_bytes", value=10**400),
    "a huge token id": put("steps", 2, "token_id", value=10**30),
    "a negative token id": put("steps", 2, "token_id", value=-1),
    "a huge candidate": put("steps", 2, "candidates", 0, "token_id", value=10**30),
    "a huge prompt token": put("prompt_tokens", 0, "id", value=10**30),
    "a huge seed": put(*FIRST_SETTINGS, "seed", value=10**400),
    "a sure candidate": put("steps", 2, "candidates", 0, "probability", value=1.5),
    "no candidates": put("steps", 2, "candidates", value=[]),
    "more candidates than are kept": lambda d: d["steps"][2].update(candidates=d["steps"][2]["candidates"] * 20),
    "a token as long as a page": put("steps", 2, "raw", value="00" * 1_001),
    "a wrong type": put("steps", 2, "text", value=5),
    "a list for a step": put("steps", 2, value=[]),
    "a text for the steps": put("steps", value="none"),
    "null": put("metadata", value=None),
    "bytes that are no hex": put("steps", 2, "raw", value="xyz"),
    "settings out of range": put(*FIRST_SETTINGS, "top_p", value=7),
    "settings from nowhere": put("metadata", "sampling", value=[]),
    "settings from a later step": put("metadata", "sampling", 0, 0, value=1),
    "settings going back": put("metadata", "sampling", 1, 0, value=0),
    "no KV heads": put(*SPEC, "num_kv_heads", value=0),
    "no vocabulary": put(*SPEC, "vocab_size", value=0),
    "a negative width": put(*SPEC, "hidden_size", value=-8),
    "a huge width": put(*SPEC, "head_dim", value=10**400),
    "a huge model": put(*SPEC, "total_params", value=10**400),
    "more layers than windows": put(*SPEC, "num_layers", value=3),
    "no layers": lambda d: at(*SPEC)(d).update(num_layers=0, layer_windows=[]),
    "an empty window": put(*SPEC, "layer_windows", 0, value=0),
    "no bits": put(*SPEC, "weight_bits", value=0),
    "no experts": put(
        *SPEC, "moe", value={"num_experts": 0, "experts_per_token": 0, "expert_intermediate_size": 0}
    ),
    "key norms of other positions": lambda d: d["key_norms"].pop(),
    "key norms of other layers": lambda d: d["key_norms"][0].append(1.0),
    "a negative norm": put("key_norms", 0, 0, value=-1),
    "an infinite norm": put("key_norms", 0, 0, value=1e300),
    "a roof of nothing": put("ceilings", "bandwidth", value=0),
    "a negative roof": put("ceilings", "flops", value=-1),
    "another reason": put("stop_reason", value="bored"),
}


def assert_refused(text: str | bytes) -> None:
    with pytest.raises(TraceError) as refusal:
        Trace.from_json(text)
    message = str(refusal.value)
    assert "\n" not in message
    assert 10 < len(message) < 300


def test_a_trace_that_could_not_have_happened_is_refused(trace: Trace, subtests: pytest.Subtests) -> None:
    for fault, change in IMPOSSIBLE.items():
        with subtests.test(fault):
            assert_refused(changed(trace, change))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "null",
        "5",
        "[]",
        "{}",
        '{"format": "two-phases-trace"',
        b"\xff\xfe",
        b"\x89PNG\r\n",
        "[" * 100_000,
        '{"steps":' * 10_000,
        "9" * 10_000,
        "1e999",
        '"\ud800"',
        '"\\ud800"',
        "<html></html>",
    ],
    ids=repr,
)
def test_a_file_that_is_no_trace_is_refused(text: str | bytes) -> None:
    assert_refused(text)


def test_a_version_this_app_does_not_know_is_named(trace: Trace) -> None:
    with pytest.raises(TraceError, match="another trace version than 2"):
        Trace.from_json(changed(trace, put("version", value=3)))


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch, trace: Trace) -> None:
    monkeypatch.setattr(trace_io, "LARGEST_FILE", 1_000)
    with pytest.raises(TraceError, match="at most 1,000"):
        Trace.from_json(trace.to_json())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_a_file_saved_with_a_byte_order_mark_opens(trace: Trace, encoding: str) -> None:
    text = trace.to_json()
    assert Trace.from_json(text.encode(encoding)) == trace
    assert Trace.from_json("\ufeff" + text) == trace


# Files of millions of parts: refused by their numbers, whatever the parts are


def spliced(trace: Trace, name: str, part: str) -> str:
    """The trace's file with `part`, which may be no JSON that Python should hold, in place of a field."""
    return changed(trace, put(name, value="@")).replace('"@"', part)


@pytest.mark.parametrize(
    ("name", "part", "reason"),
    [
        ("steps", "[" + "{}," * 6_000_000 + "{}]", "6,000,.* ','; a trace has at most 3,000,000"),
        ("steps", "[" + "{}," * 200_000 + "{}]", r"steps\.0\.index: Field required"),
        ("key_norms", "[[" + "0," * 9_000_000 + "0]]", "9,00.* ','; a trace has"),
        ("key_norms", "[" + "[]," * 300_000 + "[]]", r"300,.* '\['; a trace has"),
        ("other", "[" + "[]," * 200_000 + "[]]", "other: Unexpected keyword"),
        ("other", "{" + '"a":{},' * 300_000 + '"a":0}', r"300,.* '\{'; a trace has"),
        ("prompt", '"' + "x" * 1_000_001 + '"', "prompt: String should have at most 1000000"),
    ],
    ids=["steps", "empty steps", "numbers", "columns", "unknown list", "unknown objects", "prompt"],
)
def test_a_file_of_millions_of_parts_is_refused_before_they_are_made(
    trace: Trace, name: str, part: str, reason: str
) -> None:
    text = spliced(trace, name, part)
    tracemalloc.start()
    with pytest.raises(TraceError, match=reason):
        Trace.from_json(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6  # bytes; six million dictionaries would take 400


def test_a_file_of_many_unknown_fields_is_refused_by_their_number(trace: Trace) -> None:
    fields = ",".join(f'"{place}":0' for place in range(2_000))
    with pytest.raises(TraceError, match="the file has 2,000 fields that no trace has"):
        Trace.from_json(f"{trace.to_json()[:-1]},{fields}}}")


def lengthened(trace: Trace, *, num_steps: int, num_layers: int) -> str:
    """As many steps and layers, all well-formed, without a cache map."""
    document = json.loads(trace.to_json())
    document["key_norms"] = []
    document["metadata"]["sampling"] = document["metadata"]["sampling"][:1]
    document["metadata"]["spec"] |= {
        "num_layers": num_layers,
        "layer_windows": [None] * num_layers,
        "total_params": 2**40,
    }
    first, decode = document["steps"][:2]
    decodes = [
        decode | {"index": index, "context_len": first["context_len"] + index} for index in range(1, num_steps)
    ]
    document["steps"] = [first, *decodes]
    return json.dumps(document)


@pytest.mark.parametrize(
    ("num_steps", "num_layers", "reason"),
    [
        (300, 200_000, "num_layers must be from 1 to 1,000, got 200,000"),
        (3, 1_001, "num_layers must be from 1 to 1,000, got 1,001"),
        (8_193, 2, "8,193 steps; at most 8,192"),
        (3_000, 1_000, "positions times layers; at most 2,000,000"),
    ],
)
def test_a_run_longer_or_deeper_than_any_screen_shows_is_refused(
    trace: Trace, num_steps: int, num_layers: int, reason: str
) -> None:
    with pytest.raises(TraceError, match=reason):
        Trace.from_json(lengthened(trace, num_steps=num_steps, num_layers=num_layers))


@pytest.mark.parametrize(("num_steps", "num_layers"), [(8_192, 126), (1_500, 1_000)])
def test_the_longest_and_the_deepest_run_open(trace: Trace, num_steps: int, num_layers: int) -> None:
    opened = Trace.from_json(lengthened(trace, num_steps=num_steps, num_layers=num_layers))
    assert (len(opened.steps), opened.metadata.spec.num_layers) == (num_steps, num_layers)


# Other formats


def test_the_frame_has_a_row_per_step_and_the_measured_columns(trace: Trace) -> None:
    frame = trace.to_frame()
    assert {"index", "phase", "num_query_tokens", "context_len", "token_id", "text", "kv_bytes"} < set(frame)
    assert {"logprob", "entropy", "forward_s", "device_s", "rebuild_s"} < set(frame)
    assert {f"{stage}_s" for stage in ("tokenize", "queue", "sample", "detokenize")} < set(frame)
    assert not {"candidates", "raw"} & set(frame)
    assert frame["token_id"].tolist() == [step.token_id for step in trace.steps]


HARMFUL = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\0=1"]


@pytest.mark.parametrize("text", HARMFUL)
def test_a_cell_that_a_spreadsheet_would_run_starts_with_an_apostrophe(text: str) -> None:
    assert harmless_cell(text) == "'" + text


def test_the_csv_file_holds_every_step_and_no_formula(trace: Trace) -> None:
    texts = [*HARMFUL, 'a "quoted", cell', "two\nlines", "plain"]
    steps = [replace(step, text=text) for step, text in zip(trace.steps, texts, strict=False)]
    rows = list(csv.DictReader(StringIO(to_csv(replace(trace, steps=steps)), newline="")))
    assert [row["text"].lstrip("'") for row in rows] == texts
    assert not any(row["text"].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\0")) for row in rows)
    assert [float(row["forward_s"]) for row in rows] == [step.forward_s for step in steps]


def test_the_timeline_lays_every_stage_end_to_end(trace: Trace) -> None:
    events = json.loads(to_perfetto(trace))["traceEvents"]
    stages = [event for event in events if event["ph"] == "X"]
    assert sum(event["dur"] for event in stages) / 1e6 == pytest.approx(trace.e2e_s)
    for earlier, later in pairwise(stages):
        assert later["ts"] == pytest.approx(earlier["ts"] + earlier["dur"], abs=1e-3)
    passes = [event for event in stages if event["name"] in ("prefill", "decode")]
    assert [event["name"] for event in passes] == [step.phase for step in trace.steps]
    assert [event["name"] for event in stages].count("rebuild") == 1
    cached = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
    assert cached == [step.kv_bytes for step in trace.steps]
