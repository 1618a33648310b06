"""Results that papers and projects report, quoted with their source: nothing here is computed or measured by us."""

from collections.abc import Callable

from inference.facts.fact import Fact


def _quoted(number: float) -> Callable[[], float]:
    return lambda: number


_ORCA = "Orca (OSDI 2022), GPT-3 175B"
_DISTSERVE = "DistServe (OSDI 2024)"
_SPLITWISE = "Splitwise (ISCA 2024)"

FACTS = [
    Fact("orca_throughput", _quoted(36.9), "plain", f"{_ORCA}: times FasterTransformer's, equal latency"),
    Fact("distserve_requests", _quoted(7.4), "plain", f"{_DISTSERVE}: times the requests within latency targets"),
    Fact("splitwise_throughput", _quoted(1.4), "plain", f"{_SPLITWISE}: times the throughput, for less"),
    Fact("splitwise_cost", _quoted(0.20), "percent", f"{_SPLITWISE}: lower cost"),
    Fact("mooncake_requests", _quoted(0.75), "percent", "Mooncake (FAST 2025), README: more requests at Kimi"),
]
