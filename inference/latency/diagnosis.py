"""What one slow request left behind, and the rule that names its cause: one tell-tale number per cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from inference.arithmetic.metrics import Request, ttft_s


@dataclass(frozen=True, slots=True)
class TimedPass:
    """One forward pass as the server timed it, in seconds."""

    num_query_tokens: int
    context_len: int
    queue_s: float
    rebuild_s: float
    forward_s: float

    @property
    def total_s(self) -> float:
        return self.queue_s + self.rebuild_s + self.forward_s


@dataclass(frozen=True, slots=True)
class SlowRequest:
    """One request: its first pass, its decode passes, and when their tokens reached the client."""

    cause: str
    """What was done when it was recorded: an id of CAUSES."""
    conditions: str
    """How it was made, in a sentence: shown after the answer only."""
    model: str
    weight_bytes: int
    """Read once per pass."""
    dtype: str
    device: str
    threads: int
    torch_version: str
    date: str
    load: float
    """Other programs' load average on the machine, from 0: absolute times mean less the higher it is."""
    num_prompt_tokens: int
    num_shared_tokens: int
    """How many tokens the prompt's beginning has in common with an earlier request."""
    usual_prefill_s: float
    """The same first pass again, warm and alone: a median."""
    usual_decode_s: float
    """A decode pass of the same model at a short context, warm and alone: a median."""
    reused_prefill_s: float | None
    """The first pass with the shared tokens' cache reused; None where nothing is shared."""
    passes: tuple[TimedPass, ...]
    """The first is the prefill."""
    client: Request
    """When each event reached the client."""

    @property
    def decode_s(self) -> float:
        """Median time of a decode pass, without waiting."""
        return median(timed_pass.forward_s for timed_pass in self.passes[1:])

    @property
    def server_s(self) -> float:
        """From the request to the server's last token."""
        return sum(timed_pass.total_s for timed_pass in self.passes)


Measure = Callable[[SlowRequest], float]


@dataclass(frozen=True, slots=True)
class Cause:
    name: str
    tell: Measure
    """Its tell-tale number; the cause is named where this reaches `limit`."""
    limit: float
    clue: str
    """What the number is, with a place for it."""
    looks: str
    """Where to look."""
    helps: str


def _long_prompt(case: SlowRequest) -> float:
    is_new = case.num_shared_tokens < case.num_prompt_tokens / 2
    return case.usual_prefill_s / case.usual_decode_s if is_new else 0.0


def _fed_again(case: SlowRequest) -> float:
    first = case.passes[0]
    num_cached = first.context_len - first.num_query_tokens
    return max(case.num_shared_tokens - num_cached, 0) / case.num_prompt_tokens


def _tokens_per_event(case: SlowRequest) -> float:
    return float(median(case.client.tokens_per_event[1:]))


CAUSES: dict[str, Cause] = {
    "long prompt": Cause(
        "A long prompt: its prefill is most of the TTFT",
        _long_prompt,
        6,
        "warm and alone, the prefill of tokens that no earlier request had takes as long as {} decode passes",
        "the first pass: how many tokens it feeds, and how it compares with a decode pass",
        "A shorter prompt, a prefix that can be cached, or more FLOP/s; chunked prefill spares the neighbours.",
    ),
    "queue": Cause(
        "Another request's prefill in front of it",
        lambda case: case.passes[0].queue_s / ttft_s(case.client),
        0.5,
        "waiting before the first pass is {} of the TTFT",
        "the wait before the first pass, beside the pass itself",
        "More replicas, chunked prefill for the long prompt in front, or prefill on a machine of its own.",
    ),
    "cold start": Cause(
        "A cold start: the model was not loaded and warm yet",
        lambda case: case.passes[0].forward_s / case.usual_prefill_s,
        2.5,
        "the first pass took {} times what the same pass takes warm",
        "the first pass against the same pass warm",
        "Keep one replica loaded; load and warm up another before the first request is let in.",
    ),
    "prefix miss": Cause(
        "A prefix-cache miss: known tokens were computed again",
        _fed_again,
        0.5,
        "{} of the prompt was the same in an earlier request and was fed again",
        "the shared tokens against the tokens fed in the first pass",
        "Keep the prefix's KV cache; send the same beginnings to the same replica; put what varies last.",
    ),
    "slow client": Cause(
        "A throttled client: tokens are ready and arrive late",
        lambda case: case.client.event_times_s[-1] / case.server_s,
        2,
        "the last token reached the client after {} times the server's time for the request",
        "the server's passes against the client's arrivals",
        "Nothing on the server: a faster connection, or a client that reads without waiting.",
    ),
    "overhead": Cause(
        "Overhead: launches and Python set the time, not the model",
        lambda case: case.passes[0].num_query_tokens / (case.usual_prefill_s / case.usual_decode_s),
        60,
        "the first pass feeds {} tokens in the time that a decode pass takes for one",
        "how little the time of a pass depends on the tokens in it, and how few bytes there are to read",
        "CUDA graphs or compilation, larger batches, fewer and larger kernels.",
    ),
    "memory pressure": Cause(
        "Memory pressure: the KV cache was given up and rebuilt",
        lambda case: max(timed.rebuild_s for timed in case.passes) / case.decode_s,
        3,
        "the longest rebuild of a cache lasted {} decode passes",
        "time spent on rebuilding",
        "More memory for caches, a smaller batch, GQA, MLA or a cache of 8 bits; swapping instead of recomputing.",
    ),
    "long context": Cause(
        "A long context: every decode pass reads a large KV cache",
        lambda case: case.decode_s / case.usual_decode_s,
        1.6,
        "a decode pass took {} times one at a short context",
        "decode passes against the same model at a short context",
        "Fewer KV heads (GQA, MLA), a sliding window, a cache of 8 bits, or a shorter history.",
    ),
    "stalled by a neighbour": Cause(
        "A neighbour's prefill stalled the decoding",
        lambda case: max(timed.queue_s for timed in case.passes[1:]) / case.decode_s,
        3,
        "the longest wait between two tokens lasted {} decode passes",
        "the waits inside the answer, not before it",
        "Chunked prefill, a limit on prefill tokens per pass, or prefill on a machine of its own.",
    ),
    "chunks": Cause(
        "Chunked streaming: several tokens per event",
        _tokens_per_event,
        2,
        "{} tokens come in one event",
        "tokens per event, and the server's passes, which keep their pace",
        "Nothing is slow: send every token, or divide each gap by the tokens that ended it.",
    ),
}


def from_json(text: str | bytes) -> SlowRequest:
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(SlowRequest).validate_json(text)
