"""Batching by the passes that happened: lanes, slots and blocks add up, and bad requests are refused by name."""

from __future__ import annotations

import heapq
import itertools
import json
from typing import TYPE_CHECKING

import pytest
from pydantic import TypeAdapter

from inference.arithmetic.metrics import itl_s, ttft_s
from inference.batching.job import serving_job
from inference.batching.lanes import LaneSpan, lanes, requests_seen
from inference.batching.presets import EQUAL, LONG, MIXED, PRESETS, batching_job, chunked_job
from inference.batching.records import (
    Arrival,
    BatchingComparison,
    BatchPass,
    ServedPlan,
    ServingPlan,
    Share,
    static_slots,
)
from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from tests.inference.passes import outputs

if TYPE_CHECKING:
    from inference.engine import Engine


def requests(*outputs: int, prompt: int = 5, before: int = 0) -> tuple[Arrival, ...]:
    return tuple(Arrival(before, prompt, tokens) for tokens in outputs)


def test_eight_outputs_of_50_to_400_use_1800_of_3200_slots() -> None:
    assert static_slots(range(50, 401, 50), slots=8) == (1_800, 3_200)  # worked by hand: 56 %


def test_slots_of_several_groups_wait_for_each_groups_longest() -> None:
    assert static_slots([4, 1, 2, 2, 5], slots=2) == (14, 2 * (4 + 2 + 5))


def test_the_passes_of_static_batching_leave_the_slots_that_arithmetic_says(tiny: Engine) -> None:
    outputs = (3, 9, 2, 4, 7, 1, 5)
    plan = ServingPlan("static", requests(*outputs), slots=3, tokens_per_pass=64, is_static=True)
    (served,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    assert (served.useful_slots, served.offered_slots) == static_slots(outputs, 3) == (31, 63)
    assert served.idle_slots == 32
    assert len(served.passes) == 9 + 7 + 5


def passes_of_a_queue(arrivals: tuple[Arrival, ...], slots: int) -> int:
    """First come, first served, one pass per token: the time the last of `slots` servers falls idle."""
    free = [0] * slots
    for one in arrivals:
        heapq.heappush(free, max(heapq.heappop(free), one.before_pass) + one.output_tokens)
    return max(free)


@pytest.mark.slow
@pytest.mark.parametrize("name", [MIXED, EQUAL])
def test_the_presets_need_as_many_passes_as_a_queue_for_the_slots(tiny: Engine, name: str) -> None:
    plan = ServingPlan("continuous", PRESETS[name], slots=8, tokens_per_pass=512)
    (continuous,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    num_passes = passes_of_a_queue(PRESETS[name], 8)
    assert len(continuous.passes) == num_passes
    in_groups = static_slots([one.output_tokens for one in PRESETS[name]], 8)[1] // 8
    assert (in_groups > 1.5 * num_passes) == (name == MIXED)
    assert (in_groups == num_passes) == (name == EQUAL)


@pytest.mark.slow
def test_every_token_is_in_one_pass_and_in_one_lane(tiny: Engine) -> None:
    for served in drained(batching_job(PRESETS[LONG], tokens_per_pass=100).begin(tiny, Limits()))[0].arms:
        assert served.is_done
        each = zip(PRESETS[LONG], lanes(served), outputs(served), requests_seen(served), strict=True)
        for place, (arrival, lane, output, request) in enumerate(each):
            shares = [s for one in served.passes for s in one.shares if s.request == place]
            assert sum(s.num_tokens for s in shares if s.phase == "prefill") == arrival.prompt_tokens
            assert [s.num_tokens for s in shares if s.phase == "decode"] == [1] * (arrival.output_tokens - 1)
            assert len(output) == arrival.output_tokens
            busy = sum(span.num_passes for span in lane if span.state != "waiting")
            assert busy == len(shares)
            assert lane[-1].state == ("decode" if arrival.output_tokens > 1 else "prefill")
            assert all(one.end_s == other.start_s for one, other in itertools.pairwise(lane))
            assert request is not None
            assert request.num_output_tokens == arrival.output_tokens
            assert request.sent_s == lane[0].start_s
            assert request.event_times_s[-1] == lane[-1].end_s


@pytest.mark.slow
def test_a_pass_feeds_no_more_tokens_than_its_limit_and_decodes_come_first(tiny: Engine) -> None:
    whole, chunked = drained(chunked_job(chunk=64).begin(tiny, Limits()))[0].arms
    assert max(one.tokens("prefill") for one in whole.passes) == 480
    assert max(one.tokens("prefill") + one.tokens("decode") for one in chunked.passes) == 64
    during = [one for one in chunked.passes if 3 in {share.request for share in one.shares}][:8]
    assert [one.tokens("decode") for one in during] == [3] * 8, "no stream waits for the prompt"
    assert [one.tokens("prefill") for one in during] == [61] * 7 + [480 - 7 * 61]
    assert [one.shares[-1].token_id is None for one in during] == [True] * 7 + [False]


def test_static_admits_the_next_group_only_when_the_last_one_is_through(tiny: Engine) -> None:
    plan = ServingPlan("static", requests(2, 6, 1, 3), slots=2, tokens_per_pass=64, is_static=True)
    (served,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    groups = [tuple(sorted(share.request for share in one.shares)) for one in served.passes]
    assert groups == [(0, 1)] * 2 + [(1,)] * 4 + [(2, 3)] + [(3,)] * 2


def test_a_request_waits_for_its_arrival_and_an_empty_machine_does_not(tiny: Engine) -> None:
    plan = ServingPlan("late", (Arrival(50, 4, 2), Arrival(1, 4, 2), Arrival(0, 4, 1)), slots=2, tokens_per_pass=64)
    (served,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    assert [one.number for one in served.passes] == [0, 1, 2, 50, 51]
    assert [one.shares[0].request for one in served.passes] == [2, 1, 1, 0, 0]
    assert [span.state for span in lanes(served)[0]] == ["prefill", "decode"], "idle time is left out"


def test_blocks_in_use_are_those_the_tokens_fill(tiny: Engine) -> None:
    plan = ServingPlan("blocks", requests(20, prompt=14), slots=1, tokens_per_pass=64)
    (served,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    assert [one.blocks for one in served.passes] == [1] * 3 + [2] * 16 + [3]  # 14, then 15, 16, 17... to 33 tokens
    assert plan.num_blocks == 3


def by_hand() -> ServedPlan:
    """Two requests in one slot, the second one there from pass 1 on."""
    plan = ServingPlan("by hand", (Arrival(0, 7, 2), Arrival(1, 3, 1)), slots=1, tokens_per_pass=5)
    passes = (
        BatchPass(0, 1.0, 1, (Share(0, "prefill", 5, None),)),
        BatchPass(1, 0.5, 1, (Share(0, "prefill", 2, 11),)),
        BatchPass(2, 0.25, 1, (Share(0, "decode", 1, 12),)),
        BatchPass(3, 2.0, 1, (Share(1, "prefill", 3, 13),)),
    )
    return ServedPlan(plan, passes)


def test_lanes_and_latencies_of_four_passes_are_those_worked_by_hand() -> None:
    served = by_hand()
    assert lanes(served) == (
        (LaneSpan("prefill", 0.0, 1.5, 2), LaneSpan("decode", 1.5, 1.75, 1)),
        (LaneSpan("waiting", 1.0, 1.75, 2), LaneSpan("prefill", 1.75, 3.75, 1)),
    )
    first, second = requests_seen(served)
    assert first is not None
    assert second is not None
    assert (ttft_s(first), itl_s(first)) == (1.5, [0.25])
    assert (ttft_s(second), itl_s(second)) == (2.75, [])
    assert (served.num_tokens, served.tokens_per_s) == (3, 3 / 3.75)
    assert (served.useful_slots, served.idle_slots, served.is_done) == (4, 0, True)


def test_a_request_without_a_token_yet_has_no_latencies() -> None:
    unfinished = ServedPlan(by_hand().plan, by_hand().passes[:1])
    assert requests_seen(unfinished) == (None, None)
    assert lanes(unfinished) == ((LaneSpan("prefill", 0.0, 1.0, 1),), ())
    assert not unfinished.is_done


def test_a_request_that_still_waits_has_a_lane_up_to_now() -> None:
    waiting = ServedPlan(by_hand().plan, by_hand().passes[:3])
    assert lanes(waiting)[1] == (LaneSpan("waiting", 1.0, 1.75, 2),)


def test_a_comparison_can_be_written_and_read() -> None:
    adapter = TypeAdapter(BatchingComparison)
    text = adapter.dump_json(BatchingComparison((by_hand(),)))
    assert adapter.validate_json(text) == BatchingComparison((by_hand(),))
    assert json.loads(text)["arms"][0]["passes"][1]["shares"][0]["token_id"] == 11


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ((Arrival(0, 5, 5), Arrival(-3, 5, 5)), "Request 2 arrives 3 passes in the past"),
        ((Arrival(0, 0, 5),), "Request 1 has 0 prompt and 5 output tokens"),
        ((), "1 to 200 requests, it holds 0"),
        (requests(*(1,) * 201), "1 to 200 requests, it holds 201"),
    ],
)
def test_impossible_requests_are_refused_with_what_is_wrong(arrivals: tuple[Arrival, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ServingPlan("refused", arrivals, slots=2, tokens_per_pass=64)


@pytest.mark.parametrize(
    ("slots", "tokens_per_pass", "message"),
    [(0, 64, "must be 1 to 32, got 0"), (4, 3, "must be 4 .* to 2,048, got 3"), (4, 5000, "got 5000")],
)
def test_impossible_rules_are_refused_with_what_is_wrong(slots: int, tokens_per_pass: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ServingPlan("refused", requests(1), slots=slots, tokens_per_pass=tokens_per_pass)


def test_requests_that_do_not_fit_are_refused_before_any_pass(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="Request 2 reaches 520 tokens, the model's context holds 512"):
        batching_job((*requests(4), Arrival(0, 500, 20))).begin(tiny, Limits())
    # two servers of a block of 16 tokens, 256 bytes each, and a float32 mask of 512 rows by 528 keys
    monkeypatch.setenv("TWOPHASES_KV_BYTES_PER_LEARNER", str(2 * (16 * 256 + 4 * 512 * 528)))
    batching_job(requests(12)).begin(tiny, Limits())
    with pytest.raises(ValueError, match="The cache blocks and attention masks of 2 servers would take 2 MB"):
        batching_job(requests(12, 1)).begin(tiny, Limits())


def test_two_hundred_requests_are_served(tiny: Engine) -> None:
    plan = ServingPlan("many", requests(*(1, 2) * 100, prompt=1), slots=32, tokens_per_pass=256)
    (served,) = drained(serving_job([plan]).begin(tiny, Limits()))[0].arms
    assert served.is_done
    assert served.num_tokens == 300
    assert len(served.passes) == passes_of_a_queue(plan.arrivals, 32)


def test_the_name_of_a_job_holds_all_its_settings() -> None:
    few = requests(2, 3)
    names = {
        batching_job(few).name,
        batching_job(few, slots=4).name,
        batching_job(few, tokens_per_pass=64).name,
        batching_job(requests(3, 2)).name,
        batching_job(requests(2, 3, before=1)).name,
        batching_job(requests(2, 3, prompt=6)).name,
    }
    assert len(names) == 6
