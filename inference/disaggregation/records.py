"""Prefill and decode in two processes: what is asked of them, what they report, and what a client sees of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from inference.arithmetic.metrics import Request
from inference.trace import Phase

Arrangement = Literal["colocated", "disaggregated"]
ARRANGEMENTS: tuple[Arrangement, ...] = ("colocated", "disaggregated")
MOST_REQUESTS = 32


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One request: when it arrives after the start, how long its prompt is, how many tokens it wants."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class WorkerPass:
    """Measured in a worker process: one forward pass. Times are seconds after the start of the arrangement."""

    worker: int
    phase: Phase
    asks: tuple[int, ...]
    """Whose tokens it brought, by their place in the list of requests."""
    tokens: tuple[int, ...]
    """The token each of them got."""
    context_len: int
    """Of the longest sequence, after the pass."""
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Transfer:
    """Measured: the KV cache of one finished prefill on its way from one process to the other."""

    ask: int
    num_bytes: int
    start_s: float
    """When the sender began, on the clock both processes share."""
    end_s: float
    """When the receiver had all of it."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Measured in the worker processes before the requests came: seconds of a pass by its size."""

    prefill: tuple[tuple[int, float], ...] = ()
    """(prompt tokens, seconds), tokens rising."""
    decode: tuple[tuple[int, float], ...] = ()
    """(sequences, seconds), sequences rising."""


@dataclass(frozen=True, slots=True)
class ArrangementRun:
    """One arrangement's run: every pass and every transfer, in the order of their end."""

    arrangement: Arrangement
    passes: tuple[WorkerPass, ...] = ()
    transfers: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrangementComparison:
    """The same requests on the same two processes, both ways."""

    asks: tuple[ClientRequest, ...]
    served: tuple[ArrangementRun, ...]
    step_times: StepTimes
    threads_per_worker: int
    is_pinned: bool
    """Each worker on processor cores of its own; False where the system cannot, or has a single core."""

    def of(self, arrangement: Arrangement) -> ArrangementRun | None:
        return next((run for run in self.served if run.arrangement == arrangement), None)


PRESETS = ("long prompts among streams", "streams only", "burst of prompts")
"""Disaggregation tames the gaps in the first, changes little in the second, and loses in the third: all its
prefills wait for one worker while the other has next to nothing to do."""
_STREAM_PROMPT, _STREAM_OUTPUT, _FEW = 32, 40, 4
_LONG_ARRIVALS_S = (1.5, 3.0, 4.5)


def scenario(preset: str, *, num_streams: int = 4, long_prompt: int = 400) -> tuple[ClientRequest, ...]:
    """Streams from the start, long prompts with short answers among them; in a burst the prompts alone, at once."""
    streams = (ClientRequest(0.0, _STREAM_PROMPT, _STREAM_OUTPUT),) * num_streams
    if preset == "long prompts among streams":
        return (*streams, *(ClientRequest(arrival_s, long_prompt, _FEW) for arrival_s in _LONG_ARRIVALS_S))
    if preset == "streams only":
        return streams
    if preset == "burst of prompts":
        return (ClientRequest(0.0, long_prompt, _FEW),) * num_streams
    raise ValueError(f"no preset is called {preset!r}; there are {', '.join(PRESETS)}")


def is_done(served: ArrangementRun, asks: Sequence[ClientRequest]) -> bool:
    """Whether every request has all its tokens."""
    return sum(len(worker_pass.tokens) for worker_pass in served.passes) == sum(ask.output_tokens for ask in asks)


def requests(served: ArrangementRun, asks: Sequence[ClientRequest]) -> dict[int, Request]:
    """What each client saw, by the place of its request: those that got a token, a token per pass."""
    times: dict[int, list[float]] = {}
    for worker_pass in served.passes:
        for place in worker_pass.asks:
            times.setdefault(place, []).append(worker_pass.end_s)
    return {
        place: Request(asks[place].arrival_s, tuple(ends_s), (1,) * len(ends_s), asks[place].prompt_tokens)
        for place, ends_s in sorted(times.items())
    }


def tokens(served: ArrangementRun) -> dict[int, tuple[int, ...]]:
    """The token ids each request got, in their order."""
    token_ids: dict[int, list[int]] = {}
    for worker_pass in served.passes:
        for place, token_id in zip(worker_pass.asks, worker_pass.tokens, strict=True):
            token_ids.setdefault(place, []).append(token_id)
    return {place: tuple(ids) for place, ids in sorted(token_ids.items())}


def gaps(served: ArrangementRun, place: int) -> list[tuple[float, float]]:
    """(time of the token, seconds since the one before) of one request."""
    ends = [worker_pass.end_s for worker_pass in served.passes if place in worker_pass.asks]
    return [(later, later - earlier) for earlier, later in pairwise(ends)]
