"""The recorded cases: the rule names what was done, and nothing else; and the rule on requests worked by hand."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.diagnosis_cases import FOLDER, ORDER, is_clear, slowly, stream
from inference.arithmetic.metrics import e2e_s
from inference.latency.diagnosis import CAUSES, SlowRequest, TimedPass
from inference.latency.request_events import in_chunks
from lessons.reading.cases import load_cases

QUIET = tuple(TimedPass(12 if place == 0 else 1, 12 + place, 0.0, 0.0, 0.05) for place in range(9))


def plain(passes: tuple[TimedPass, ...] = QUIET) -> SlowRequest:
    """A request with nothing wrong: a prefill of 12 tokens and 8 decode passes, 50 ms each."""
    return SlowRequest(
        cause="",
        conditions="",
        model="none",
        weight_bytes=1,
        dtype="float32",
        device="cpu",
        threads=1,
        torch_version="",
        date="",
        load=0,
        num_prompt_tokens=12,
        num_shared_tokens=0,
        usual_prefill_s=0.05,
        usual_decode_s=0.05,
        reused_prefill_s=None,
        passes=passes,
        client=stream(passes, 12),
    )


def changed(place: int, **values: float) -> SlowRequest:
    passes = list(QUIET)
    passes[place] = replace(passes[place], **values)  # type: ignore[arg-type]
    return plain(tuple(passes))


def diagnose(case: SlowRequest) -> tuple[str, ...]:
    """The causes whose tell-tale is there."""
    return tuple(name for name, cause in CAUSES.items() if cause.tell(case) >= cause.limit)


def test_there_is_one_recording_for_every_cause() -> None:
    assert Counter(case.cause for case in load_cases().values()) == Counter(list(CAUSES))
    assert set(ORDER) == set(CAUSES)


@pytest.mark.parametrize("number", range(1, len(ORDER) + 1))
def test_a_recording_shows_its_cause_and_no_other(number: int) -> None:
    case = load_cases()[number]
    assert case.cause == ORDER[number - 1]
    assert diagnose(case) == (case.cause,)
    assert is_clear(case)


@pytest.mark.parametrize("number", range(1, len(ORDER) + 1))
def test_a_recording_is_small_and_says_where_it_comes_from(number: int) -> None:
    case = load_cases()[number]
    assert all((case.device, case.torch_version, case.date, case.conditions, case.threads))
    assert (FOLDER / f"case-{number}.json").stat().st_size < 60_000


def test_nothing_wrong_has_no_cause() -> None:
    assert diagnose(plain()) == ()


@pytest.mark.parametrize(
    ("case", "cause"),
    [
        (changed(0, queue_s=0.5), "queue"),
        (changed(4, queue_s=0.5), "stalled by a neighbour"),
        (changed(4, rebuild_s=0.5), "memory pressure"),
        (changed(0, forward_s=0.5), "cold start"),
        (replace(plain(), num_shared_tokens=10), "prefix miss"),
        (replace(plain(), usual_decode_s=0.02), "long context"),
        (replace(changed(0, forward_s=0.5), usual_prefill_s=0.5), "long prompt"),
        (replace(plain(), client=slowly(plain().client, 0.2)), "slow client"),
        (replace(plain(), client=in_chunks(plain().client, 4)), "chunks"),
        (replace(changed(0, num_query_tokens=300, context_len=300), num_prompt_tokens=300), "overhead"),
    ],
)
def test_one_thing_done_to_a_quiet_request_is_named(case: SlowRequest, cause: str) -> None:
    assert diagnose(case) == (cause,)


def test_two_causes_at_once_are_both_named_and_not_clear() -> None:
    both = replace(changed(0, queue_s=0.5), num_shared_tokens=10, cause="queue")
    assert diagnose(both) == ("queue", "prefix miss")
    assert not is_clear(both)


def test_a_reused_prefix_is_no_miss() -> None:
    passes = tuple(replace(one, context_len=one.context_len + 1000) for one in QUIET)
    case = replace(plain(passes), num_prompt_tokens=1012, num_shared_tokens=1000)
    assert diagnose(case) == ()


def test_a_slow_client_gets_the_same_events_later() -> None:
    slow = slowly(plain().client, 0.2)
    assert slow.event_times_s[0] == 0.05
    assert e2e_s(slow) == pytest.approx(0.05 + 8 * 0.2)
    assert slowly(plain().client, 0.01) == plain().client
