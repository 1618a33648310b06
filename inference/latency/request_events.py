"""The events a client would have seen of a run, and the worked requests that set the tools apart."""

from collections.abc import Sequence
from itertools import accumulate

from inference.arithmetic.metrics import Request
from inference.trace import Trace


def of_trace(trace: Trace, tokens_per_chunk: int = 1) -> Request:
    """A run as a stream: sent at 0, one event per token at its measured time; pauses between steps are left out."""
    if not trace.steps:
        raise ValueError("the run has no steps yet; run the prefill first")
    times = tuple(accumulate(step.latency_s for step in trace.steps))
    each = Request(0.0, times, (1,) * len(times), len(trace.prompt_tokens))
    return in_chunks(each, tokens_per_chunk)


def in_chunks(request: Request, tokens_per_chunk: int) -> Request:
    """The same tokens, sent together: the first alone, then `tokens_per_chunk` at the time of their last."""
    if tokens_per_chunk < 1:
        raise ValueError(f"tokens per chunk must be 1 or more, got {tokens_per_chunk}")
    if set(request.tokens_per_event) != {1}:
        raise ValueError(f"only a stream of single tokens can be sent in chunks, got {request.tokens_per_event}")
    last = request.num_output_tokens - 1
    ends = [*range(tokens_per_chunk, last, tokens_per_chunk), *([last] if last else [])]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    times = tuple(request.event_times_s[end] for end in [0, *ends])
    return Request(request.sent_s, times, (1, *sizes), request.num_prompt_tokens)


def steady(
    *,
    ttft_s: float,
    gap_s: float,
    tokens_per_event: Sequence[int],
    num_prompt_tokens: int = 512,
    sent_s: float = 0.0,
) -> Request:
    """A request whose events come at an even pace after the first."""
    times = tuple(sent_s + ttft_s + gap_s * place for place in range(len(tokens_per_event)))
    return Request(sent_s, times, tuple(tokens_per_event), num_prompt_tokens)


# Worked by hand: 101 tokens, the first after half a second, 20 ms a token. B sends the same tokens at the same pace
# in chunks of two; C is short and ten times slower. D opens with an empty chunk, as chat servers do, before its
# first token; E keeps A's pace in chunks of four, the first one too.
A = steady(ttft_s=0.5, gap_s=0.020, tokens_per_event=(1,) * 101)
B = steady(ttft_s=0.5, gap_s=0.040, tokens_per_event=(1, *(2,) * 50))
C = steady(ttft_s=0.5, gap_s=0.200, tokens_per_event=(1,) * 3)
D = Request(
    0.0, (0.9, *steady(ttft_s=2.2, gap_s=0.020, tokens_per_event=(1,) * 20).event_times_s), (0, *(1,) * 20), 512
)
E = steady(ttft_s=0.5, gap_s=0.080, tokens_per_event=(4,) * 25)
EXAMPLES: dict[str, tuple[Request, ...]] = {
    "Example A: a token at a time": (A,),
    "Example B: two tokens per chunk": (B,),
    "Pool of A and C: long and short": (A, C),
    "Example D: an empty first chunk": (D,),
    "Example E: four tokens in every chunk": (E,),
}
