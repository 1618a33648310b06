"""The requests the batching lab starts from. Each preset says what it is there to show; one has nothing to gain."""

from inference.batching.job import serving_job
from inference.batching.records import Arrival, BatchingComparison, ServingPlan
from inference.jobs.experiments import Job

STATIC, CONTINUOUS = "static", "continuous"
SLOTS, TOKENS_PER_PASS = 8, 512
WHOLE = "whole prompt"
CHUNK = 64


def _requests(before_pass: int, prompt_tokens: int, *outputs: int) -> tuple[Arrival, ...]:
    return tuple(Arrival(before_pass, prompt_tokens, tokens) for tokens in outputs)


MIXED, EQUAL = "Mixed outputs", "Equal outputs (nothing to gain)"
LONG, BURST = "One long prompt among chats", "Burst"
PRESETS: dict[str, tuple[Arrival, ...]] = {
    MIXED: (
        *_requests(0, 24, 8, 64, 16, 8, 32, 8, 16, 12),
        *_requests(0, 24, 40, 8, 24, 8, 56, 12, 8, 16),
        *_requests(0, 24, 8, 32, 12, 48, 8, 16, 24, 8),
    ),
    EQUAL: _requests(0, 24, *(20,) * 24),
    LONG: (
        *_requests(0, 16, 24, 32, 40, 48, 40, 32),
        *_requests(8, 440, 8),
        *_requests(12, 16, 24, 24, 24),
    ),
    BURST: (
        *_requests(0, 24, 32, 24),
        *_requests(6, 24, 12, 28, 8, 20, 32, 8, 16, 24, 12, 8, 36, 16, 8, 20),
    ),
}


def batching_job(
    arrivals: tuple[Arrival, ...] = PRESETS[MIXED], *, slots: int = SLOTS, tokens_per_pass: int = TOKENS_PER_PASS
) -> Job[BatchingComparison]:
    """The same requests both ways, on the same engine with the same limits."""
    return serving_job(
        [
            ServingPlan(STATIC, arrivals, slots, tokens_per_pass, is_static=True),
            ServingPlan(CONTINUOUS, arrivals, slots, tokens_per_pass),
        ]
    )


LONG_PROMPT, SHORT_PROMPT = "A long prompt arrives", "A short prompt arrives (little to protect)"
NEWCOMERS = {LONG_PROMPT: 480, SHORT_PROMPT: 96}
"""Prompt tokens of the request that arrives while the others decode."""
STREAMS = _requests(0, 16, 40, 40, 40)


def chunked_job(prompt_tokens: int = NEWCOMERS[LONG_PROMPT], chunk: int = CHUNK) -> Job[BatchingComparison]:
    """A prompt arrives while three streams decode: fed whole in one pass, and at most `chunk` tokens a pass.

    The newcomer is the last of the plan's requests.
    """
    arrivals = (*STREAMS, Arrival(10, prompt_tokens, 4))
    return serving_job(
        [
            ServingPlan(WHOLE, arrivals, slots=4, tokens_per_pass=TOKENS_PER_PASS),
            ServingPlan(f"{chunk} tokens per pass", arrivals, slots=4, tokens_per_pass=chunk),
        ]
    )
