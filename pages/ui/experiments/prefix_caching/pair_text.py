"""What the run of two prompts shows, in numbers and in words: the phase it helps, the price, the condition."""

import statistics

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.prefix_caching.pair import PairRun
from inference.prefix_caching.records import median_ttft_s, saving
from pages.ui.experiments.compared import way
from pages.ui.parts.card import Card, Figure

_HEIGHT = 142


def numbers(run: PairRun | None) -> Card:
    """What the run shows, and a sentence with the phase, the price and the condition."""
    if run is None or not run.warm:
        return Card(sentence="Run to see what the second prompt can reuse, and what that is worth.", height=_HEIGHT)
    warm = run.warm[0]
    saved = saving(run.spec, prompt_tokens=warm.prompt_tokens, cached_tokens=warm.cached_tokens)
    figures = [
        Figure(f"{significant(run.speedup)} times", "cold over warm TTFT, measured"),
        Figure(
            percent(saved.share) if warm.hit_blocks else "none",
            f"of {scaled(saved.cold.flops, 'FLOP')} saved, estimated",
            hint=f"{scaled(saved.warm.flops, 'FLOP')} are left",
        ),
        Figure(f"{warm.hit_blocks:,} hit, {warm.missed_blocks:,} missed", "full blocks of the second prompt"),
    ]
    if run.both:
        pair = " / ".join(_ms(statistics.median(values)) for values in (run.both.cold_s, run.both.warm_s))
        figures.append(Figure(f"{pair} ms", "a token in decode, cold / warm, measured"))
    return Card(figures=tuple(figures), sentence=words(run), height=_HEIGHT)


def _ms(value_s: float) -> str:
    return significant(value_s * 1e3)


def words(run: PairRun) -> str:
    """The phase it helps, the price, the condition."""
    warm, cold_s, warm_s = run.warm[0], median_ttft_s(run.cold), median_ttft_s(run.warm)
    joined_s = statistics.median(request.lookup_s + request.assemble_s for request in run.warm)
    price = (
        f"The price: {scaled(run.kept_bytes, 'B')} kept, {seconds(run.keep_s)} to copy the blocks out after "
        f"the first prompt, {seconds(joined_s)} in each warm TTFT to find and join them."
    )
    if not warm.hit_blocks:
        return (
            f"Only the first {run.shared_tokens:,} tokens are equal, no full block of {run.block_size} before "
            "the last token: each later block has another parent, so none hits and all is computed again "
            f"({seconds(cold_s)} cold, {seconds(warm_s)} warm). {price}"
        )
    helped = {
        "less": f"It helps prefill: {seconds(cold_s)} became {seconds(warm_s)} to the first token.",
        "the same": f"It changes nothing that can be measured: {seconds(cold_s)} to the first token cold, "
        f"{seconds(warm_s)} warm.",
        "more": f"It does not help here: {seconds(cold_s)} to the first token cold, {seconds(warm_s)} warm.",
    }[way(cold_s, warm_s)]
    if run.both:
        helped += f" Decode goes on from the same cache, {_outputs(run)}."
    return (
        f"{helped} {price} The condition: the same tokens from position 0 on, in whole blocks; "
        f"{run.shared_tokens:,} are equal here and {warm.cached_tokens:,} hit."
    )


def _outputs(run: PairRun) -> str:
    both = run.both
    assert both is not None
    if both.are_equal:
        apart = significant(both.logit_difference, 2)
        return f"and all {len(both.warm_tokens)} greedy tokens are the same (logits at most {apart} apart)"
    tie = (
        "a tie within rounding" if (both.margin or 0.0) <= both.logit_difference else "more than rounding explains"
    )
    return (
        f"but token {both.num_equal + 1} is another: the cold logits prefer theirs by "
        f"{significant(both.margin or 0.0, 2)}, {tie}"
    )
