"""How the cases are made, on the tiny model: each does what its cause does, whatever the times."""

from collections.abc import Iterator
from statistics import median

import pytest

from benchmarks.diagnosis_cases import CHUNK, NUM_TOKENS, SHORT, SLOW_S, Recorder, record
from inference.arithmetic.metrics import itl_s
from inference.engine import Engine
from inference.jobs.worker import Worker

LONG, CONTEXT = 200, 400


@pytest.fixture(scope="module")
def recorder(tiny: Engine) -> Iterator[Recorder]:
    worker = Worker()
    yield Recorder(lambda: tiny, tiny, worker, long=LONG, context=CONTEXT)
    worker.stop()


@pytest.mark.slow
def test_every_cause_is_made_once(recorder: Recorder) -> None:
    cases = list(record(recorder))
    assert len({case.cause for case in cases}) == len(cases) == 10
    assert all(len(case.passes) == NUM_TOKENS for case in cases)
    assert all(case.client.num_output_tokens == NUM_TOKENS for case in cases)


def test_a_pass_waits_for_the_neighbour_that_the_worker_serves_first(recorder: Recorder) -> None:
    queued, stalled = recorder.queue(), recorder.stalled()
    assert queued.passes[0].queue_s > 0
    assert [one.queue_s > 0 for one in stalled.passes].index(True) > 1
    assert sum(one.queue_s > 0 for one in stalled.passes) == 1


def test_a_cache_given_up_is_rebuilt_once_and_the_context_goes_on(recorder: Recorder) -> None:
    case = recorder.memory_pressure()
    assert sum(one.rebuild_s > 0 for one in case.passes) == 1
    assert [one.context_len for one in case.passes] == list(range(LONG + SHORT, LONG + SHORT + NUM_TOKENS))


def test_a_prefix_is_fed_again_by_a_miss_and_not_by_a_kept_chat(recorder: Recorder) -> None:
    miss, chat = recorder.prefix_miss(), recorder.long_context()
    assert (miss.passes[0].num_query_tokens, miss.num_shared_tokens) == (LONG, LONG - SHORT)
    assert miss.reused_prefill_s
    assert (chat.passes[0].num_query_tokens, chat.passes[0].context_len) == (SHORT, CONTEXT + SHORT)


def test_the_client_alone_differs_when_it_is_slow_or_served_in_chunks(recorder: Recorder) -> None:
    slow, chunks = recorder.slow_client(), recorder.chunks()
    pace_s = SLOW_S * median(one.forward_s for one in slow.passes)
    assert all(gap_s >= 0.999 * pace_s for gap_s in itl_s(slow.client))
    assert slow.client.event_times_s[0] == pytest.approx(slow.passes[0].total_s)
    assert chunks.client.tokens_per_event == (1, *(CHUNK,) * 3)
    assert chunks.client.event_times_s[-1] == pytest.approx(chunks.server_s)
