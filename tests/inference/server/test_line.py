"""What goes over the line to the engine's process: every job, and of a run only what is new."""

from collections.abc import Callable
from multiprocessing import Pipe
from typing import Any

import pytest

from inference.batching.prefill import prefill_batching_job
from inference.batching.presets import batching_job, chunked_job
from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import ClientRequest
from inference.engine import Engine
from inference.generation import Generation
from inference.jobs.experiments import Job
from inference.jobs.limits import Limits
from inference.jobs.predicted_run import predicted_run
from inference.kv_cache.agreement import agreement_job
from inference.kv_cache.recompute import recompute_job
from inference.kv_cache.tensors import measured_cache_job, value_norms_job
from inference.machine import sweep_jobs
from inference.machine.placed import roofs_job
from inference.machine.probes import modules_job
from inference.prefix_caching.chat import chat_job
from inference.prefix_caching.pair import PairPrompts, pair_job
from inference.prefix_caching.shared import shared_job
from inference.prefix_caching.tenants import tenants_job
from inference.run.recipe import Recipe
from inference.run.tokens import KnownTokens
from inference.sampling_lab import next_token
from inference.server.messages import VOCABULARY, Begin, Wire
from inference.server.owned import Run
from inference.server.run_news import RunTeller, with_news
from inference.server.runs_elsewhere import GenerationElsewhere, name_of
from inference.speculation.jobs import own_job, preset_request, speculation_job
from inference.speculation.sampled import draws_job
from inference.speculation.sizes import sizes_job
from inference.structure.job import structured_job
from inference.structure.records import Constraint, StructuredRequest
from inference.trace import Trace


def wires(named: Callable[[Any], object] = str) -> tuple[Wire, Wire]:
    """Two ends; the second finds what was named."""
    ours, theirs = Pipe()
    return Wire(ours, name_of=name_of, named=named), Wire(theirs, name_of=lambda _: None, named=named)


def jobs() -> list[Job[Any]]:
    return [
        batching_job(),
        chunked_job(),
        prefill_batching_job(),
        comparison_job([ClientRequest(0.0, 8, 4)]),
        predicted_run("Once"),
        agreement_job(),
        recompute_job(),
        measured_cache_job(16),
        roofs_job("bfloat16"),
        modules_job(16),
        sweep_jobs.prompt_job(),
        sweep_jobs.context_job(),
        sweep_jobs.batch_job(),
        chat_job(),
        pair_job(PairPrompts()),
        shared_job(),
        tenants_job(),
        next_token.prompt_job("Once"),
        own_job("own", lambda: preset_request("edit")),
        speculation_job("edit"),
        draws_job(),
        sizes_job("edit"),
        structured_job("own", lambda: StructuredRequest(Constraint("regular expression", "a"), Recipe("x"))),
    ]


def outcome(job: Job[Any], engine: Engine) -> str:
    """Why it is refused, as some are longer than the tiny model's context; empty if it begins."""
    try:
        job.begin(engine, Limits()).close()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("job", jobs(), ids=lambda job: job.name[:30])
def test_every_job_crosses_the_line_and_can_begin_on_the_other_side(job: Job[Any], tiny: Engine) -> None:
    ours, theirs = wires()
    ours.send(Begin(7, job.settled() if job.settled else job))
    came = theirs.receive()
    assert (came.number, came.job.name, came.job.kind) == (7, job.name, job.kind)
    assert outcome(came.job, tiny) == outcome(job, tiny)


def test_what_a_learner_has_typed_is_looked_up_before_the_job_is_sent(tiny: Engine) -> None:
    typed = ["a|b"]
    job = structured_job("own", lambda: StructuredRequest(Constraint("regular expression", typed[0]), Recipe("x")))
    assert job.settled is not None
    ours, theirs = wires()
    ours.send(Begin(1, job.settled()))
    typed[0] = "("
    theirs.receive().job.begin(tiny, Limits()).close()
    with pytest.raises(ValueError, match="regular expression"):
        job.begin(tiny, Limits())


def test_a_run_and_the_vocabulary_are_named_and_found_on_the_other_side(tiny: Engine) -> None:
    generation = Generation(tiny, "Hello")
    generation.prefill()
    ours, theirs = wires(named={"run 1": generation, VOCABULARY: tiny.token_bytes}.__getitem__)
    stand_in = GenerationElsewhere("run 1", generation.trace)
    ours.send(Begin(1, value_norms_job(stand_in, generation.trace.steps)))  # type: ignore[arg-type]
    (found,) = [cell.cell_contents for cell in theirs.receive().job.begin.__closure__]
    assert found is generation


def test_only_what_is_new_of_a_run_is_told_and_gives_the_same_run(tiny: Engine) -> None:
    run, teller = Run(Generation(tiny, "Hello"), Recipe("Hello")), RunTeller()
    seen: Trace | None = None
    told: list[tuple[int, int]] = []

    def tell() -> None:
        nonlocal seen
        run.publish()
        news = teller.news(run)
        told.append((len(news.steps), len(news.norms)))
        seen = with_news(seen, news)
        assert seen == run.trace

    run.generation.prefill()
    tell()
    for _ in range(3):
        run.generation.decode()
        tell()
    run.generation.rewind(1)
    tell()
    run.generation.fork(run.trace.steps[1].candidates[-1].token_id)
    tell()
    run.generation.decode()
    tell()
    assert told == [(1, 5), (1, 1), (1, 1), (1, 1), (0, 0), (1, 0), (1, 1)]


def test_branches_are_told_when_there_is_a_new_one(tiny: Engine) -> None:
    run, teller = Run(Generation(tiny, "Hello"), Recipe("Hello")), RunTeller()
    assert teller.news(run).branches == []
    assert teller.news(run).branches is None
    run.branches = [*run.branches, run.trace]
    assert teller.news(run).branches == [run.trace]


def test_a_vocabulary_without_its_tokenizer_says_the_same(tiny: Engine) -> None:
    known = KnownTokens.of(tiny.token_bytes, tiny.spec.vocab_size)
    assert [known[token_id] for token_id in range(300)] == [tiny.token_bytes[token_id] for token_id in range(300)]
