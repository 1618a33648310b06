"""Where the tools' readings of the same requests part, in sentences with these requests' numbers."""

from collections.abc import Sequence

from inference.arithmetic.definitions import (
    AIPERF,
    AIPERF_PER_CHUNK,
    GUIDELLM,
    SGLANG_NATIVE,
    VLLM_FROM_0_33,
    VLLM_TO_0_32,
    Reading,
)
from inference.arithmetic.metrics import Request, e2e_s, tpot_s, ttft_s
from inference.arithmetic.units import seconds


def difference(requests: Sequence[Request], read: dict[str, Reading]) -> str:
    """A sentence for every way in which these readings differ; none for a way in which they do not."""
    words = [_first_event(read), _whole_answer(read), _first_chunk(read)]
    words += [_pool(read)] if len(requests) > 1 else [_events(read), _folklore(requests[0])]
    return " ".join(filter(None, words))


def _apart(value: float | None, other: float | None) -> tuple[str, str] | None:
    """Both as the screen writes them, if both are there and that shows a difference."""
    if value is None or other is None or seconds(value) == seconds(other):
        return None
    return seconds(value), seconds(other)


def _first_event(read: dict[str, Reading]) -> str:
    """Up to 0.32 vLLM's benchmark took an empty first event for the first token."""
    old, new = read[VLLM_TO_0_32.name], read[VLLM_FROM_0_33.name]
    words = []
    if ttfts := _apart(old.ttft_s, new.ttft_s):
        words.append(
            f"vLLM's TTFT is {ttfts[0]} up to 0.32, which stops at the first event, empty or not, and {ttfts[1]} "
            "from 0.33, which waits for content."
        )
    if ttfts and (tpots := _apart(old.tpot_s, new.tpot_s)):
        words.append(
            f"Its TPOT is {tpots[0]} up to 0.32, with the rest of that wait in it, and {tpots[1]} from 0.33."
        )
    return " ".join(words)


def _whole_answer(read: dict[str, Reading]) -> str:
    tpot = read[GUIDELLM.name].tpot_s
    return "" if tpot is None else f"guidellm's TPOT is {seconds(tpot)} because TTFT is in it."


def _first_chunk(read: dict[str, Reading]) -> str:
    """If several tokens came at first, N - 1 is not how many came after it."""
    itls = _apart(read[AIPERF.name].itl_s, read[AIPERF_PER_CHUNK.name].itl_s)
    if not itls:
        return ""
    return (
        f"AIPerf divides by N − 1 and gets an ITL of {itls[0]}. With --per-chunk-usage it knows how many tokens "
        f"came with the first chunk, divides by those after it and gets {itls[1]}."
    )


def _pool(read: dict[str, Reading]) -> str:
    means = _apart(read[AIPERF.name].itl_s, read[GUIDELLM.name].itl_s)
    if not means:
        return ""
    return (
        f"A mean over requests is {means[0]} (AIPerf's ITL), a mean over tokens {means[1]} (guidellm's ITL): long "
        "answers weigh more in the second. Both are right."
    )


def _events(read: dict[str, Reading]) -> str:
    vllm, split = read[VLLM_FROM_0_33.name], read[SGLANG_NATIVE.name].itl_s
    pair = _apart(vllm.itl_s, vllm.tpot_s)
    if not pair or split is None:
        return ""
    return (
        f"vLLM's ITL is {pair[0]} against a TPOT of {pair[1]} because it is the gap between events, and an event "
        f"holds several tokens. SGLang's own endpoint shares each gap out among its tokens: {seconds(split)}."
    )


def _folklore(request: Request) -> str:
    """TTFT + TPOT x N is a token too long."""
    tpot = tpot_s(request)
    if tpot is None:
        return ""
    sums_s = (ttft_s(request) + tpot * request.num_output_tokens, e2e_s(request))
    wrong, right = (f"{value_s * 1e3:,.0f} ms" for value_s in sums_s)
    if wrong == right:
        return ""
    return (
        f"TTFT + TPOT × N would give {wrong}, one token more than the {right} it took: the first token is in TTFT "
        "already."
    )
