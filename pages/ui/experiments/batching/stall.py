"""What chunked prefill does, in words and in a table: the streams that decode, and the prompt that arrives."""

from collections.abc import Sequence

from inference.arithmetic.metrics import itl_s, ttft_s
from inference.arithmetic.units import seconds, significant
from inference.batching.lanes import requests_seen
from inference.batching.records import BatchingComparison, ServedPlan
from pages.ui.experiments.batching.text import median
from pages.ui.experiments.compared import way
from pages.ui.parts.live_chart import Table


def stall(comparison: BatchingComparison) -> str:
    """What chunks did to the streams and to the newcomer."""
    whole, chunked = comparison.arms
    worst = [_worst_during(arm) for arm in comparison.arms]
    first = [requests_seen(arm)[-1] for arm in comparison.arms]
    if not all(first):
        return ""
    ttfts = [ttft_s(newcomer) for newcomer in first if newcomer]
    num_chunks = _num_prefills(chunked)
    if num_chunks == _num_prefills(whole):
        return (
            f"The prompt of {whole.plan.arrivals[-1].prompt_tokens:,} tokens fits into one pass under this limit "
            "too: both arms did the same, and what differs is noise. Lower the limit to see it."
        )
    return (
        f"{_streams(worst[0], worst[1])} {_newcomer(ttfts[0], ttfts[1], num_chunks)} The condition is a prompt "
        f"long enough to stall anybody: the streams' median gap is {seconds(median(_stream_gaps(whole)))}."
    )


def _streams(whole_s: float, chunked_s: float) -> str:
    sentence = (
        f"while the prompt came in, a running stream waited up to {seconds(whole_s)} for its next token, "
        f"with chunks up to {seconds(chunked_s)}."
    )
    openings = {
        "less": "It protects decode:",
        "the same": "It protected nobody here:",
        "more": "It did not protect decode here:",
    }
    return f"{openings[way(whole_s, chunked_s)]} {sentence}"


def _newcomer(whole_s: float, chunked_s: float, num_chunks: int) -> str:
    match way(whole_s, chunked_s):
        case "more":
            return (
                f"The newcomer pays: its TTFT is {seconds(chunked_s)} instead of {seconds(whole_s)}, because its "
                f"prompt took {num_chunks} passes, and each reads the weights and its cache so far again."
            )
        case "the same":
            return (
                f"The newcomer pays nothing that can be measured: its TTFT is {seconds(chunked_s)} with chunks and "
                f"{seconds(whole_s)} without, although its prompt took {num_chunks} passes."
            )
        case "less":
            return (
                f"The newcomer did not pay here: its TTFT is {seconds(chunked_s)} with chunks and "
                f"{seconds(whole_s)} without, although its prompt took {num_chunks} passes. On a quiet machine "
                "reading the weights again for every chunk takes longer, not less: serve them again."
            )


def stall_totals(arms: Sequence[ServedPlan]) -> Table:
    """The newcomer's TTFT beside what the others saw meanwhile."""
    if not arms:
        return Table(["measured"], [])
    seen = [requests_seen(arm)[-1] for arm in arms]
    columns = ["measured", *(arm.plan.name for arm in arms)]
    return Table(
        columns,
        [
            ["passes of the newcomer's prefill", *(str(_num_prefills(arm)) for arm in arms)],
            ["newcomer's TTFT", *(seconds(ttft_s(newcomer)) if newcomer else "–" for newcomer in seen)],
            ["streams' worst ITL meanwhile", *(seconds(_worst_during(arm)) for arm in arms)],
            ["streams' median ITL over the run", *(seconds(median(_stream_gaps(arm))) for arm in arms)],
            ["tokens/s in all", *(significant(arm.tokens_per_s) for arm in arms)],
        ],
    )


def _num_prefills(arm: ServedPlan) -> int:
    newcomer = len(arm.plan.arrivals) - 1
    return sum(
        share.request == newcomer and share.phase == "prefill"
        for batch_pass in arm.passes
        for share in batch_pass.shares
    )


def _worst_during(arm: ServedPlan) -> float:
    """The longest gap of a stream that ended while the newcomer waited for its first token; 0 before that."""
    *streams, newcomer = requests_seen(arm)
    if newcomer is None:
        return 0.0
    until = newcomer.token_times_s[0]
    return max(
        (
            gap
            for stream in streams
            if stream
            for gap, time_s in zip(itl_s(stream), stream.token_times_s[1:], strict=True)
            if newcomer.sent_s < time_s <= until
        ),
        default=0.0,
    )


def _stream_gaps(arm: ServedPlan) -> list[float]:
    return [gap for stream in requests_seen(arm)[:-1] if stream for gap in itl_s(stream)]
