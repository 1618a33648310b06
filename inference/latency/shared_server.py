"""Many requests on one server that runs one pass of each in turn: simulated arrivals, measured passes."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from inference.arithmetic.metrics import Request, ttft_s
from inference.latency.queueing import check_load

MIN_TOKENS = 4


def share(run: Request, *, load: float, num_requests: int, seed: int) -> tuple[Request, ...]:
    """Requests like `run`, cut to between MIN_TOKENS and all of its tokens, arriving at random (Poisson).

    The server never batches: it gives each request in progress one pass in turn, as this program's own worker does,
    each with the time that pass took in `run`. At load 1 passes would be asked for as fast as they can be run.
    """
    check_load(load)
    if load == 0 or set(run.tokens_per_event) != {1}:
        raise ValueError("a shared server needs a load above 0 and a run of single tokens")
    passes = (ttft_s(run), *np.diff(run.token_times_s).tolist())
    rng = np.random.default_rng(seed)
    lengths = rng.integers(min(MIN_TOKENS, len(passes)), len(passes), num_requests, endpoint=True)
    mean_s = float(np.cumsum(passes)[lengths - 1].mean())
    gaps = rng.exponential(1.0, num_requests)  # drawn for every load alike, so that a slider moves nothing else
    sent = np.cumsum(gaps * mean_s / load)
    return tuple(
        Request(float(start), tuple(times), (1,) * len(times), run.num_prompt_tokens)
        for start, times in zip(sent, _in_turn(passes, sent.tolist(), lengths.tolist()), strict=True)
    )


def _in_turn(passes: Sequence[float], sent: Sequence[float], lengths: Sequence[int]) -> list[list[float]]:
    """When each request's passes end. A new request waits for the pass in hand, then takes the last place."""
    ends: list[list[float]] = [[] for _ in sent]
    turn: deque[int] = deque()
    now, arrived = 0.0, 0
    while turn or arrived < len(sent):
        if not turn:
            now = max(now, sent[arrived])
        while arrived < len(sent) and sent[arrived] <= now:
            turn.append(arrived)
            arrived += 1
        request = turn.popleft()
        now += passes[len(ends[request])]
        ends[request].append(now)
        while arrived < len(sent) and sent[arrived] <= now:
            turn.append(arrived)
            arrived += 1
        if len(ends[request]) < lengths[request]:
            turn.append(request)
    return ends
