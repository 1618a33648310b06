"""TTFT, ITL, TPOT, TPS, E2E latency and goodput from raw event times, in our words (the tools': definitions.py).

s: request sent; f, l: first and last event that brought tokens; N: output tokens.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Request:
    """What a client saw of one request. Times on one clock, in seconds."""

    sent_s: float
    event_times_s: tuple[float, ...]
    """When each streamed event (chunk) arrived."""
    tokens_per_event: tuple[int, ...]
    """Output tokens in each event; 0 for an empty one."""
    num_prompt_tokens: int

    def __post_init__(self) -> None:
        if len(self.event_times_s) != len(self.tokens_per_event):
            raise ValueError(f"{len(self.event_times_s)} event times for {len(self.tokens_per_event)} token counts")
        if any(later < earlier for earlier, later in pairwise((self.sent_s, *self.event_times_s))):
            raise ValueError("event times must not go back, nor start before sent_s")
        if not any(self.tokens_per_event) or min(self.tokens_per_event) < 0:
            raise ValueError(f"a request needs at least one output token, got {self.tokens_per_event}")

    @property
    def num_output_tokens(self) -> int:
        """N."""
        return sum(self.tokens_per_event)

    @property
    def token_times_s(self) -> tuple[float, ...]:
        """Times of the events that brought tokens."""
        return tuple(t for t, n in zip(self.event_times_s, self.tokens_per_event, strict=True) if n)


def ttft_s(request: Request) -> float:
    """Time to first token: f - s, with everything the client waited for in it, queue and network too."""
    return request.token_times_s[0] - request.sent_s


def itl_s(request: Request) -> list[float]:
    """Inter-token latencies: every gap between events that brought tokens, so stutter shows."""
    return [later - earlier for earlier, later in pairwise(request.token_times_s)]


def tpot_s(request: Request) -> float | None:
    """Time per output token: (l - f) / (N - 1), one mean per request; None for a single token."""
    if request.num_output_tokens < 2:
        return None
    return (request.token_times_s[-1] - request.token_times_s[0]) / (request.num_output_tokens - 1)


def e2e_s(request: Request) -> float:
    """End-to-end latency: l - s, which is TTFT + (N - 1) x TPOT."""
    return request.token_times_s[-1] - request.sent_s


def tps_per_user(request: Request) -> float | None:
    """Decode tokens per second one reader sees: 1 / TPOT; None where there is no TPOT above 0."""
    tpot = tpot_s(request)
    return 1 / tpot if tpot else None


def duration_s(requests: Sequence[Request]) -> float:
    """From the first request sent to the last event."""
    return max(r.event_times_s[-1] for r in requests) - min(r.sent_s for r in requests)


def tps_total(requests: Sequence[Request]) -> float:
    """Output tokens per second of the whole system."""
    return sum(r.num_output_tokens for r in requests) / duration_s(requests)


def goodput(
    requests: Sequence[Request],
    *,
    ttft_limit_s: float | None = None,
    tpot_limit_s: float | None = None,
    e2e_limit_s: float | None = None,
) -> float:
    """Requests per second that keep every given limit. A single token has no TPOT to miss, as in vLLM."""

    def is_good(request: Request) -> bool:
        limits = (
            (ttft_s(request), ttft_limit_s),
            (tpot_s(request) or 0.0, tpot_limit_s),
            (e2e_s(request), e2e_limit_s),
        )
        return all(limit is None or value <= limit for value, limit in limits)

    return sum(map(is_good, requests)) / duration_s(requests)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` (1 to 99) per cent of the values lie below, interpolated as numpy does."""
    if not 1 <= percent <= 99:
        raise ValueError(f"percent must be 1 to 99, got {percent}")
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
