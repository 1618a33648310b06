"""What the batching experiments say in words and tables: only numbers of the run."""

import statistics
from collections.abc import Callable, Sequence

from inference.arithmetic.metrics import Request, itl_s, tps_per_user, ttft_s
from inference.arithmetic.units import seconds, significant
from inference.batching.lanes import requests_seen
from inference.batching.records import BatchingComparison, ServedPlan
from pages.ui.experiments.compared import way
from pages.ui.parts.live_chart import Table


def totals(arms: Sequence[ServedPlan]) -> Table:
    """One line a measure, one column an arm, and how many times better the last is than the first."""
    if not arms:
        return Table(["measured"], [])
    lines: tuple[tuple[str, list[float], Callable[[float], str], bool], ...] = (
        ("passes", [len(arm.passes) for arm in arms], _count, False),
        ("idle slots", [arm.idle_slots for arm in arms], _count, False),
        ("slots offered", [arm.offered_slots for arm in arms], _count, False),
        ("tokens generated", [arm.num_tokens for arm in arms], _count, True),
        ("time of all passes", [arm.total_s for arm in arms], seconds, False),
        ("tokens/s in all", [arm.tokens_per_s for arm in arms], significant, True),
        ("TTFT, mean", [_mean_ttft(arm) for arm in arms], seconds, False),
        ("ITL, median", [median(_gaps(arm)) for arm in arms], seconds, False),
        ("ITL, worst", [max(_gaps(arm), default=0.0) for arm in arms], seconds, False),
    )
    rows = []
    for name, values, write, is_more_better in lines:
        better, worse = (values[-1], values[0]) if is_more_better else (values[0], values[-1])
        gain = f"{significant(better / worse)} times" if better and worse else "–"
        rows.append([name, *(write(value) if value else "0" for value in values), gain])
    return Table(["measured", *(arm.plan.name for arm in arms), "gain"], rows)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def requests_table(arms: Sequence[ServedPlan]) -> Table:
    """Every request: what it asked and what its client saw under each arm."""
    columns = ["request", "arrives before pass", "prompt", "output"]
    for arm in arms:
        columns += [f"TTFT, {arm.plan.name}", f"ITL median, {arm.plan.name}", f"decode tokens/s, {arm.plan.name}"]
    seen = [requests_seen(arm) for arm in arms]
    asked = arms[0].plan.arrivals if arms else ()
    return Table(
        columns,
        [
            [
                str(place + 1),
                f"{arrival.before_pass:,}",
                f"{arrival.prompt_tokens:,}",
                f"{arrival.output_tokens:,}",
                *(cell for each in seen for cell in _latencies(each[place])),
            ]
            for place, arrival in enumerate(asked)
        ],
    )


def passes_table(arms: Sequence[ServedPlan]) -> Table:
    """Every pass of every arm."""
    return Table(
        ["way", "pass", "took", "requests", "prompt tokens", "decode tokens", "cache blocks"],
        [
            [
                arm.plan.name,
                f"{batch_pass.number:,}",
                seconds(batch_pass.seconds),
                str(len(batch_pass.shares)),
                f"{batch_pass.tokens('prefill'):,}",
                f"{batch_pass.tokens('decode'):,}",
                f"{batch_pass.blocks:,}",
            ]
            for arm in arms
            for batch_pass in arm.passes
        ],
    )


def explanation(comparison: BatchingComparison) -> str:
    """The phase it helps, the price and the condition, as this run shows them."""
    static, continuous = comparison.arms
    return " ".join(
        [_gain(static, continuous), _slots(static, continuous), _price(continuous), _condition(static, continuous)]
    )


def _gain(static: ServedPlan, continuous: ServedPlan) -> str:
    times = significant(continuous.tokens_per_s / static.tokens_per_s)
    match way(static.tokens_per_s, continuous.tokens_per_s):
        case "more":
            return f"It helps decode: {times} times the tokens per second of static groups."
        case "the same":
            return f"It changes nothing that can be measured here: {times} times the tokens per second."
        case "less":
            return f"It loses here: {times} times the tokens per second of static groups."


def _slots(static: ServedPlan, continuous: ServedPlan) -> str:
    """The count behind it, which no noise touches."""
    many, few = len(static.passes), len(continuous.passes)
    sentence = (
        f"Static groups left {static.idle_slots:,} of {static.offered_slots:,} slots idle, continuous ones "
        f"{continuous.idle_slots:,} of {continuous.offered_slots:,}"
    )
    if few == many:
        return f"{sentence}, and both took {many:,} passes."
    if few > many:
        return f"{sentence}, and they took {few:,} passes instead of {many:,}."
    ratio, rate = many / few, continuous.tokens_per_s / static.tokens_per_s
    fuller = " A fuller pass takes longer, so time gains less than the count." if rate < 0.97 * ratio else ""
    return f"{sentence}, so {few:,} passes did what {many:,} did ({significant(ratio)} to 1, counted).{fuller}"


def _price(arm: ServedPlan) -> str:
    """What a stream pays when a prompt joins its pass."""
    joined = [
        batch_pass.seconds
        for batch_pass in arm.passes
        if batch_pass.tokens("decode") and batch_pass.tokens("prefill")
    ]
    alone = [batch_pass.seconds for batch_pass in arm.passes if not batch_pass.tokens("prefill")]
    if not joined or not alone:
        return "The price, a prompt that joins a pass of decodes and holds them up, did not have to be paid here."
    return (
        "The price is stutter: a pass that a prompt joins holds up everybody who decodes in it, here "
        f"{len(joined):,} times, at worst for {seconds(max(joined))}; the median without is "
        f"{seconds(median(alone))}."
    )


def _condition(static: ServedPlan, continuous: ServedPlan) -> str:
    outputs = [arrival.output_tokens for arrival in static.plan.arrivals]
    if len(continuous.passes) >= len(static.passes):
        are_alike = len({(arrival.before_pass, arrival.output_tokens) for arrival in static.plan.arrivals}) == 1
        return (
            "It gains nothing here: requests that are as long as each other and come together free their slots "
            "together, so a group never waits for anybody."
            if are_alike
            else "It gains nothing here: no slot fell free while somebody waited for it."
        )
    return (
        f"The condition is that requests differ, in length or in arrival: here outputs are {min(outputs):,} to "
        f"{max(outputs):,} tokens."
    )


def _latencies(request: Request | None) -> list[str]:
    if request is None:
        return ["–", "–", "–"]
    rate = tps_per_user(request)
    gaps = itl_s(request)
    return [seconds(ttft_s(request)), seconds(median(gaps)) if gaps else "–", significant(rate) if rate else "–"]


def _gaps(arm: ServedPlan) -> list[float]:
    return [gap for request in requests_seen(arm) if request for gap in itl_s(request)]


def _mean_ttft(arm: ServedPlan) -> float:
    known = [ttft_s(request) for request in requests_seen(arm) if request]
    return statistics.fmean(known) if known else 0.0


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
