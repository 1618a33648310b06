"""Results that papers and projects report, quoted with their source: nothing here is computed or measured by us."""

from collections.abc import Callable

from inference.fact import Fact


def _quoted(number: float) -> Callable[[], float]:
    return lambda: number


_ORCA = "Orca (OSDI 2022), GPT-3 175B"
_SARATHI = "Sarathi-Serve (OSDI 2024)"
_DISTSERVE = "DistServe (OSDI 2024)"
_SPLITWISE = "Splitwise (ISCA 2024)"

FACTS = [
    Fact("orca_throughput", _quoted(36.9), "plain", f"{_ORCA}: times FasterTransformer's, equal latency"),
    Fact("sarathi_mistral", _quoted(2.6), "plain", f"{_SARATHI}: times the capacity, Mistral-7B on one A100"),
    Fact("sarathi_yi", _quoted(3.7), "plain", f"{_SARATHI}: up to times the capacity, Yi-34B on two A100s"),
    Fact(
        "sarathi_pipeline",
        _quoted(5.6),
        "plain",
        f"{_SARATHI}: up to times the capacity, pipelined",
    ),
    Fact("distserve_requests", _quoted(7.4), "plain", f"{_DISTSERVE}: times the requests within latency targets"),
    Fact("distserve_slo", _quoted(12.6), "plain", f"{_DISTSERVE}: or times tighter latency targets"),
    Fact("splitwise_throughput", _quoted(1.4), "plain", f"{_SPLITWISE}: times the throughput, for less"),
    Fact("splitwise_cost", _quoted(0.20), "percent", f"{_SPLITWISE}: lower cost"),
    Fact("splitwise_equal", _quoted(2.35), "plain", f"{_SPLITWISE}: times the throughput at equal cost and power"),
    Fact("mooncake_requests", _quoted(0.75), "percent", "Mooncake (FAST 2025), README: more requests at Kimi"),
    Fact(
        "mla_cache_saved", _quoted(0.933), "percent", "DeepSeek-V2 (2024), abstract: less cache than DeepSeek 67B"
    ),
]
