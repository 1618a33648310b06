"""What can be predicted of a run: named numbers, each computed from the learner's own trace."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from inference.cost import forward_work
from inference.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of one run."""

    words: str
    """What it is, after "the": "time to first token, measured"."""
    unit: str
    """Of what `compute` returns; a question may ask in another of the same kind, such as ms for s."""
    compute: Callable[[Trace], float]
    """ValueError where the run is too short to have it."""


def measure(name: str) -> Measure:
    """The measure of this name. ValueError lists those there are."""
    if name not in MEASURES:
        raise ValueError(f"no measure {name!r} in quizzes/kinds/measures.py; there are: {', '.join(MEASURES)}")
    return MEASURES[name]


def _decodes(trace: Trace) -> list[Step]:
    if len(trace.steps) < 2:
        raise ValueError(f"this run has no decode step yet, only {len(trace.steps)} pass; run a few tokens more")
    return trace.steps[1:]


def _median_itl_s(trace: Trace) -> float:
    return statistics.median(step.latency_s for step in _decodes(trace))


def _prefill_over_decode(trace: Trace) -> float:
    return trace.steps[0].forward_s / statistics.median(step.forward_s for step in _decodes(trace))


def _time_per_prompt_token_s(trace: Trace) -> float:
    return trace.steps[0].forward_s / len(trace.prompt_tokens)


def _intensity(trace: Trace, step: Step) -> float:
    return forward_work(
        trace.metadata.spec, num_query_tokens=step.num_query_tokens, context_len=step.context_len
    ).intensity


MEASURES = {
    "ttft": Measure("time to first token, measured", "s", lambda trace: trace.ttft_s),
    "median_itl": Measure("median inter-token latency, measured", "s", _median_itl_s),
    "e2e": Measure("end-to-end latency, measured", "s", lambda trace: trace.e2e_s),
    "tps": Measure("tokens per second in decode, measured", "tokens/s", lambda trace: 1 / _mean_itl_s(trace)),
    "ttft_share": Measure(
        "TTFT's share of the end-to-end latency, measured", "share", lambda t: t.ttft_s / t.e2e_s
    ),
    "prefill_over_decode": Measure("prefill pass over the median decode pass, measured", "x", _prefill_over_decode),
    "time_per_prompt_token": Measure("prefill time per prompt token, measured", "s", _time_per_prompt_token_s),
    "kv_bytes": Measure("size of the KV cache at the end, measured", "B", lambda trace: trace.steps[-1].kv_bytes),
    "kv_bytes_after_prefill": Measure(
        "size of the KV cache after prefill, measured", "B", lambda trace: trace.steps[0].kv_bytes
    ),
    "kv_bytes_per_token": Measure(
        "bytes each token holds in the KV cache, measured",
        "B",
        lambda trace: trace.steps[-1].kv_bytes / trace.steps[-1].context_len,
    ),
    "context_len": Measure(
        "number of tokens in the KV cache at the end", "tokens", lambda t: t.steps[-1].context_len
    ),
    "prompt_tokens": Measure("number of prompt tokens", "tokens", lambda trace: len(trace.prompt_tokens)),
    "output_tokens": Measure("number of output tokens", "tokens", lambda trace: len(trace.steps)),
    "decode_passes": Measure("number of decode passes", "passes", lambda trace: len(trace.steps) - 1),
    "prefill_intensity": Measure(
        "arithmetic intensity of prefill, estimated", "FLOP/byte", lambda t: _intensity(t, t.steps[0])
    ),
    "decode_intensity": Measure(
        "arithmetic intensity of the last decode pass, estimated",
        "FLOP/byte",
        lambda trace: _intensity(trace, _decodes(trace)[-1]),
    ),
}


def _mean_itl_s(trace: Trace) -> float:
    return statistics.fmean(step.latency_s for step in _decodes(trace))
