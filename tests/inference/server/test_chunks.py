"""A long prefill gives way: fed in chunks between which others step, and one pass for who is alone."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

import pytest
import torch

from inference.cost import kv_bytes
from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.limits import Limits
from inference.jobs.worker import Worker
from inference.run.recipe import Recipe
from inference.run.trace_bounds import TraceError
from inference.run.trace_io import to_perfetto
from inference.server import runs as server_runs
from inference.server.owned import Run
from inference.server.runs import Runs
from inference.trace import Chunk, Trace
from pages.charts.run.run import latency_per_pass, step_work, work_of

PATIENCE_S = 20
LONG = Recipe("a long prompt " * 20, max_new_tokens=20)  # 280 tokens of the tiny model


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.stop()


@pytest.fixture
def runs(tiny: Engine, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Whose prefills give way after 64 tokens, however quick the machine is."""
    monkeypatch.setattr(server_runs, "FIRST_CHUNK", 64)
    runs = Runs(tiny, worker, Limits())
    monkeypatch.setattr(server_runs, "GIVE_WAY_S", 0.0)
    monkeypatch.setattr(server_runs, "SMALLEST_CHUNK", 64)
    return runs


def in_chunks(engine: Engine, sizes: tuple[int, ...]) -> Generation:
    generation = Generation(engine, LONG.prompt)
    for size in sizes:
        generation.feed(size)
    generation.prefill()
    return generation


def test_chunks_give_the_tokens_and_the_logits_of_one_pass(tiny: Engine) -> None:
    whole, parts = in_chunks(tiny, ()), in_chunks(tiny, (64, 100, 1))
    assert whole.last is not None
    assert parts.last is not None
    assert torch.allclose(whole.last.logits, parts.last.logits, atol=1e-4)
    assert whole.trace.steps[0].token_id == parts.trace.steps[0].token_id
    assert whole.trace.steps[0].kv_bytes == parts.trace.steps[0].kv_bytes
    for ours, theirs in zip(parts.trace.key_norms, whole.trace.key_norms, strict=True):
        assert list(ours) == pytest.approx(list(theirs), rel=1e-4)
    whole.decode(), parts.decode()
    assert whole.trace.steps[1].token_id == parts.trace.steps[1].token_id


def test_a_step_in_chunks_says_so_and_adds_up(tiny: Engine) -> None:
    (step,) = in_chunks(tiny, (64, 100)).trace.steps
    assert [chunk.num_query_tokens for chunk in step.chunks] == [64, 100, 116]
    assert step.num_query_tokens == step.context_len == 280
    assert step.forward_s == math.fsum(chunk.forward_s for chunk in step.chunks)
    (whole,) = in_chunks(tiny, ()).trace.steps
    assert whole.chunks == ()


def test_the_last_token_is_left_for_the_pass_that_samples(tiny: Engine) -> None:
    generation = Generation(tiny, LONG.prompt)
    with pytest.raises(RuntimeError, match="leaves something"):
        generation.feed(280)
    generation.prefill()
    with pytest.raises(RuntimeError, match="leaves something"):
        generation.feed(1)


def test_each_chunk_reads_the_weights_and_the_cache_before_it(tiny: Engine) -> None:
    trace = in_chunks(tiny, (64, 100)).trace
    work, spec = step_work(trace, trace.steps[0]), trace.metadata.spec
    once = work_of(spec, 280, 280)
    assert work.weight_bytes == 3 * once.weight_bytes
    assert work.kv_read_bytes == kv_bytes(spec, context_len=64 + 164 + 280)
    assert work.kv_write_bytes == once.kv_write_bytes
    assert work.flops == once.flops + 2 * 2 * spec.vocab_size * spec.hidden_size, "two LM heads more, else alike"


def test_who_is_alone_prefills_in_one_pass(runs: Runs) -> None:
    assert runs.start("anna", LONG).result(PATIENCE_S).trace.steps[0].chunks == ()
    again = runs.start("anna", LONG).result(PATIENCE_S)
    assert again.trace.steps[0].chunks == (), "one's own old run is nobody else"


def test_beside_others_a_long_prefill_gives_way_between_its_chunks(runs: Runs, worker: Worker) -> None:
    """A press that comes during a chunk is answered before the next one."""
    runs.start("ben", Recipe("Ben's prompt", max_new_tokens=20)).result(PATIENCE_S)
    order: list[str] = []
    feed = Generation.feed
    pressed: list[Future[Run]] = []

    def pressing(generation: Generation, num_tokens: int) -> Chunk:
        order.append("chunk")
        pressed.append(runs.advance("ben", len(pressed) + 1))
        pressed[-1].add_done_callback(lambda _: order.append("step"))
        return feed(generation, num_tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Generation, "feed", pressing)
        run = runs.start("anna", LONG).result(PATIENCE_S)
    assert order == ["chunk", "step"] * 4
    (step,) = run.trace.steps
    assert [chunk.num_query_tokens for chunk in step.chunks] == [64, 64, 64, 64, 24]
    waited_s = sum(waited.forward_s for waited in pressed[0].result(PATIENCE_S).trace.steps[1:])
    assert step.queue_s >= waited_s, "the passes of others are time in the queue"
    assert runs.get("anna") is run


def test_a_short_prompt_and_one_beside_nobody_present_are_one_pass(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.start("ben", Recipe("Ben's prompt", max_new_tokens=20)).result(PATIENCE_S)
    assert runs.start("anna", Recipe("short", max_new_tokens=9)).result(PATIENCE_S).trace.steps[0].chunks == ()
    monkeypatch.setattr(server_runs, "PRESENT_S", 0.0)
    assert runs.start("anna", LONG).result(PATIENCE_S).trace.steps[0].chunks == ()


def test_what_fails_between_chunks_fails_the_press_and_keeps_the_old_run(runs: Runs) -> None:
    runs.start("ben", Recipe("Ben's prompt", max_new_tokens=20)).result(PATIENCE_S)
    old = runs.start("anna", Recipe("short", max_new_tokens=9)).result(PATIENCE_S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Generation, "feed", lambda *_: (_ for _ in ()).throw(RuntimeError("no memory")))
        refused = runs.start("anna", LONG)
        with pytest.raises(RuntimeError, match="no memory"):
            refused.result(PATIENCE_S)
    assert runs.get("anna") is old


def test_a_file_keeps_the_chunks_and_refuses_those_that_do_not_add_up(tiny: Engine) -> None:
    trace = in_chunks(tiny, (64, 100)).trace
    again = Trace.from_json(trace.to_json())
    assert again.steps[0].chunks == trace.steps[0].chunks
    text = json.loads(trace.to_json())
    for name, value in (("num_query_tokens", 65), ("forward_s", 9.0), ("forward_s", -1.0)):
        wrong = json.loads(json.dumps(text))
        wrong["steps"][0]["chunks"][0][name] = value
        with pytest.raises(TraceError, match="chunks must add up"):
            Trace.from_json(json.dumps(wrong))


def test_a_file_from_before_there_were_chunks_still_opens(tiny: Engine) -> None:
    trace = in_chunks(tiny, ()).trace
    old = json.loads(trace.to_json())
    old["version"] = 1
    del old["steps"][0]["chunks"]
    assert Trace.from_json(json.dumps(old)).steps == replace(trace).steps


def test_the_chart_and_the_timeline_show_every_chunk(tiny: Engine) -> None:
    trace = in_chunks(tiny, (64, 100)).trace
    chart = latency_per_pass(trace)
    ends = [shape.y0 for shape in chart.layout.shapes]
    seconds = [chunk.forward_s for chunk in trace.steps[0].chunks]
    assert ends == pytest.approx([seconds[0] * 1e3, (seconds[0] + seconds[1]) * 1e3])
    assert "in 3 chunks" in chart.data[0].hovertext[0]
    events = [event for event in json.loads(to_perfetto(trace))["traceEvents"] if event["name"] == "prefill"]
    assert [event["dur"] for event in events] == pytest.approx([one * 1e6 for one in seconds])
    assert events[1]["ts"] == pytest.approx(events[0]["ts"] + events[0]["dur"])
