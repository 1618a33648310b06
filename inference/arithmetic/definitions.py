"""TTFT, TPOT, ITL, E2E latency and throughput as each benchmark tool works them out, by tool and version.

An event is a chunk of a chat stream with `choices`, an empty one too; a chunk that brings the usage alone is none.
Every definition equals what the tool's own code gave for the same events (`tool_readings.yaml` beside its
test), but that vLLM, SGLang and guidellm print 0 for the mean of nothing, where a reading has None.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from inference.arithmetic.metrics import Request, itl_s

Moment = Callable[[Request], float]
"""A time on the request's clock, in seconds."""
Samples = list[tuple[float, int]]
"""Seconds, and how often they count in the tool's mean over all requests."""
Metric = Callable[[Request], Samples]


@dataclass(frozen=True, slots=True)
class Definition:
    """What one tool, in some versions, makes of a request's events."""

    tool: str
    versions: str
    """Those in which the rule holds, and the mode it needs; a bare number is the one that was tried."""
    source: str
    """Where the tool's code does it."""
    ttft_s: Metric
    e2e_s: Metric
    is_over: Moment
    """Until when the request counts in the time that all output tokens are divided by."""
    tpot_s: Metric | None = None
    itl_s: Metric | None = None
    gap_s: Metric | None = None
    """The gap between chunks, where the tool has it under a name of its own."""

    @property
    def name(self) -> str:
        return f"{self.tool} {self.versions}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tool prints for some requests: means in seconds, None where it has no such number."""

    ttft_s: float | None
    tpot_s: float | None
    itl_s: float | None
    gap_s: float | None
    e2e_s: float | None
    output_tps: float | None
    """Output tokens per second of all requests together."""


def reading(definition: Definition, requests: Sequence[Request]) -> Reading:
    """The requests as this tool reads them."""
    took_s = max(map(definition.is_over, requests)) - min(request.sent_s for request in requests)
    return Reading(
        ttft_s=_mean(definition.ttft_s, requests),
        tpot_s=_mean(definition.tpot_s, requests),
        itl_s=_mean(definition.itl_s, requests),
        gap_s=_mean(definition.gap_s, requests),
        e2e_s=_mean(definition.e2e_s, requests),
        output_tps=sum(request.num_output_tokens for request in requests) / took_s if took_s else None,
    )


def readings(requests: Sequence[Request]) -> dict[str, Reading]:
    """The same requests as every tool reads them, by the definition's name."""
    return {definition.name: reading(definition, requests) for definition in DEFINITIONS}


def _mean(metric: Metric | None, requests: Sequence[Request]) -> float | None:
    samples = [sample for request in requests for sample in metric(request)] if metric else []
    times = sum(count for _, count in samples)
    return sum(value * count for value, count in samples) / times if times else None


def _first_event(request: Request) -> float:
    return request.event_times_s[0]


def _last_event(request: Request) -> float:
    return request.event_times_s[-1]


def _first_token(request: Request) -> float:
    return request.token_times_s[0]


def _last_token(request: Request) -> float:
    return request.token_times_s[-1]


def _until(moment: Moment) -> Metric:
    """From sent to this moment, once per request."""
    return lambda request: [(moment(request) - request.sent_s, 1)]


def _per_later_token(first: Moment, last: Moment) -> Metric:
    """(last - first) / (N - 1), once per request."""

    def metric(request: Request) -> Samples:
        num_later = request.num_output_tokens - 1
        return [((last(request) - first(request)) / num_later, 1)] if num_later else []

    return metric


_pace = _per_later_token(_first_token, _last_token)


def _pace_of_several_chunks(request: Request) -> Samples:
    return _pace(request) if len(request.token_times_s) > 1 else []


def _pace_over_tokens(request: Request) -> Samples:
    return [(value, request.num_output_tokens - 1) for value, _ in _pace(request)]


def _pace_after_first_chunk(request: Request) -> Samples:
    """Divided by the tokens after the first chunk that brought any; where none are left, by N - 1."""
    first = next(count for count in request.tokens_per_event if count)
    num_later = request.num_output_tokens - first or request.num_output_tokens - 1
    return [((_last_token(request) - _first_token(request)) / num_later, 1)] if num_later else []


def _per_token(request: Request) -> Samples:
    """From sent to the last token, divided by all N tokens and counted for each: the first one's wait is in it."""
    num_tokens = request.num_output_tokens
    return [((_last_token(request) - request.sent_s) / num_tokens, num_tokens)]


def _event_gaps(request: Request) -> Samples:
    return [(later - earlier, 1) for earlier, later in pairwise(request.event_times_s)]


def _token_gaps(request: Request) -> Samples:
    return [(gap, 1) for gap in itl_s(request)]


def _token_gaps_split(request: Request) -> Samples:
    """Each gap divided by the tokens that ended it, and counted for each of them."""
    tokens = [count for count in request.tokens_per_event if count]
    return [(gap / count, count) for gap, count in zip(itl_s(request), tokens[1:], strict=True)]


VLLM_TO_0_32 = Definition(
    "vLLM bench",
    "up to 0.32",
    "vllm/benchmarks/lib/endpoint_request_func.py, async_request_openai_chat_completions",
    ttft_s=_until(_first_event),
    tpot_s=_per_later_token(_first_event, _last_event),
    itl_s=_event_gaps,
    e2e_s=_until(_last_event),
    is_over=_last_event,
)
VLLM_FROM_0_33 = Definition(
    "vLLM bench",
    "from 0.33",
    "vllm/benchmarks/lib/endpoint_request_func.py, _choice_has_streamed_output",
    ttft_s=_until(_first_token),
    tpot_s=_pace,
    itl_s=_token_gaps,
    e2e_s=_until(_last_token),
    is_over=_last_event,
)
SGLANG_CHAT = Definition(
    "SGLang",
    "0.5.23, chat",
    "sglang/benchmark/serving.py, async_request_openai_chat_completions",
    ttft_s=_until(_first_token),
    tpot_s=_per_later_token(_first_token, _last_event),
    itl_s=_token_gaps,
    e2e_s=_until(_last_event),
    is_over=_last_event,
)
SGLANG_NATIVE = replace(
    SGLANG_CHAT,
    versions="0.5.23, /generate",
    source="sglang/benchmark/serving.py, async_request_sglang_generate",
    itl_s=_token_gaps_split,
)
AIPERF = Definition(
    "AIPerf",
    "0.13",
    "aiperf/metrics/types/inter_token_latency_metric.py and its neighbours",
    ttft_s=_until(_first_token),
    itl_s=_pace,
    gap_s=_token_gaps,
    e2e_s=_until(_last_token),
    is_over=_last_token,
)
AIPERF_PER_CHUNK = replace(AIPERF, versions="0.13, --per-chunk-usage", itl_s=_pace_after_first_chunk)
GENAI_PERF = Definition(
    "GenAI-Perf",
    "0.0.16",
    "genai_perf/profile_data_parser/llm_profile_data_parser.py, _parse_requests",
    ttft_s=_until(_first_token),
    itl_s=_pace_of_several_chunks,
    e2e_s=_until(_last_token),
    is_over=_last_token,
)
GUIDELLM = Definition(
    "guidellm",
    "0.8.1",
    "guidellm/schemas/base/request_stats.py, GenerativeRequestStats",
    ttft_s=_until(_first_token),
    tpot_s=_per_token,
    itl_s=_pace_over_tokens,
    e2e_s=_until(_last_event),
    is_over=_last_event,
)
DEFINITIONS = (
    VLLM_TO_0_32,
    VLLM_FROM_0_33,
    SGLANG_CHAT,
    SGLANG_NATIVE,
    AIPERF,
    AIPERF_PER_CHUNK,
    GENAI_PERF,
    GUIDELLM,
)
