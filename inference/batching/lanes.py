"""What a batch of passes was for each request: its lane, its output, and what its client saw."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

from inference.arithmetic.metrics import Request
from inference.batching.records import ServedPlan

State = Literal["waiting", "prefill", "decode"]


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A piece of a request's lane: passes one after another in which the same happened to it."""

    state: State
    start_s: float
    end_s: float
    num_passes: int


def arrivals_s(served: ServedPlan) -> tuple[float, ...]:
    """When each request was there, on the clock of the passes."""
    clock = _clock(served)
    return tuple(clock[place] for place in _arrival_places(served))


def lanes(served: ServedPlan) -> tuple[tuple[LaneSpan, ...], ...]:
    """Each request from its arrival to its last pass, or to the newest one while it is unfinished."""
    clock, next_place = _clock(served), _arrival_places(served)
    spans: list[list[LaneSpan]] = [[] for _ in next_place]
    left = [arrival.output_tokens for arrival in served.plan.arrivals]

    def add(request: int, state: State, until: int) -> None:
        start = next_place[request]
        before = spans[request][-1] if spans[request] else None
        new = LaneSpan(state, clock[start], clock[until], until - start)
        if before and before.state == state:
            spans[request][-1] = LaneSpan(state, before.start_s, new.end_s, before.num_passes + new.num_passes)
        elif new.num_passes:
            spans[request].append(new)
        next_place[request] = until

    for place, batch_pass in enumerate(served.passes):
        for share in batch_pass.shares:
            if next_place[share.request] < place:
                add(share.request, "waiting", place)
            add(share.request, share.phase, place + 1)
            left[share.request] -= share.token_id is not None
    for request, num_left in enumerate(left):
        if num_left and next_place[request] < len(served.passes):
            add(request, "waiting", len(served.passes))
    return tuple(map(tuple, spans))


def requests_seen(served: ServedPlan) -> tuple[Request | None, ...]:
    """Each request as its client saw it, one event per token; None before the first."""
    times: list[list[float]] = [[] for _ in served.plan.arrivals]
    for batch_pass, end_s in zip(served.passes, served.ends_s, strict=True):
        for share in batch_pass.shares:
            if share.token_id is not None:
                times[share.request].append(end_s)
    return tuple(
        Request(sent_s, tuple(each), (1,) * len(each), arrival.prompt_tokens) if each else None
        for sent_s, each, arrival in zip(arrivals_s(served), times, served.plan.arrivals, strict=True)
    )


def _arrival_places(served: ServedPlan) -> list[int]:
    """The first pass, by its place, that each request could have been in."""
    numbers = [batch_pass.number for batch_pass in served.passes]
    return [bisect_left(numbers, arrival.before_pass) for arrival in served.plan.arrivals]


def _clock(served: ServedPlan) -> tuple[float, ...]:
    """When the pass at each place starts; one more, for the end of the last."""
    return (0.0, *served.ends_s)
