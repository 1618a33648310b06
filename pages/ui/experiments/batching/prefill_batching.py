"""Several prompts in one pass and one after another; the gain ends where one prompt fills the machine."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import seconds, significant
from inference.batching.prefill import LENGTHS, NUM_PROMPTS, Batched, both, prefill_batching_job
from pages.charts.batching.batching import mean_ttft_chart, together_chart
from pages.ui.experiments.compared import way
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job

_COUNTS = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class PrefillBatchingSettings:
    num_prompts: int = NUM_PROMPTS


_DEFAULT = PrefillBatchingSettings()


def prefill_batching(
    settings: PrefillBatchingSettings = _DEFAULT, *, key: str = "prefill-batching", is_fixed: bool = False
) -> None:
    """Two charts: until all prompts have a token, and their mean TTFT. Short ones win, long ones lose."""
    measuring, drawing = st.container(), st.container()
    with row(key):
        count = Controls(key, is_fixed=is_fixed).choice("Prompts", _COUNTS, settings.num_prompts)
    with measuring:
        sweep = run_job(prefill_batching_job(LENGTHS, count), key=key, label="Measure both ways")
    batches = both(sweep) if sweep else []
    with drawing:
        _draw(batches, count, key)


def _draw(batches: Sequence[Batched], count: int, key: str) -> None:
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: together_chart(batches),
            version=tuple(batches),
            key=f"{key}-all",
            title=f"Until all {count} prompts have a token",
            caption=f"one after another: {count} times the measured pass of one; both axes grow by factors",
            alt="Measured time until every prompt has its first token, in one pass and one after another.",
            table=lambda: _table(batches),
        )
    with right:
        chart_card(
            lambda: mean_ttft_chart(batches),
            version=tuple(batches),
            key=f"{key}-mean",
            title="Mean TTFT of the prompts",
            caption="all there at the start; in one pass everybody waits for everybody",
            alt="Mean time to first token of the prompts, in one pass and one after another.",
            table=lambda: _table(batches),
        )
    with st.container(key=f"{key}-words"):
        st.text(words(batches))


def _table(batches: Sequence[Batched]) -> Table:
    return Table(
        ["tokens each", "one prompt", "all in one pass", "all in turn", "gain", "mean TTFT in turn"],
        [
            [
                f"{batch.num_tokens:,}",
                seconds(batch.alone.median_s),
                seconds(batch.together.median_s),
                seconds(batch.in_turn_s),
                f"{significant(batch.gain)} times",
                seconds(batch.ttft_in_turn_s),
            ]
            for batch in batches
        ],
    )


def words(batches: Sequence[Batched]) -> str:
    if not batches:
        return (
            "Decode gains from batching because one sequence leaves the arithmetic idle. A prompt brings many "
            "tokens of its own: measure what is left to gain."
        )
    shortest, longest = batches[0], batches[-1]
    sentences = [_gain(shortest)]
    if longest is not shortest:
        sentences.append(_gain(longest))
        if way(shortest.gain, longest.gain) == "less":
            sentences.append(
                "The longer a prompt, the more of the machine it fills on its own, and the less is left."
            )
        sentences.append(_wait(longest))
    if way(1, shortest.gain) == "more":
        sentences.append("The condition is prompts with fewer tokens than the machine needs to be busy.")
    return " ".join(sentences)


def _gain(batch: Batched) -> str:
    prompts = f"{batch.num_prompts} prompts of {batch.num_tokens:,} token{'s' * (batch.num_tokens != 1)}"
    match way(1, batch.gain):
        case "more":
            return f"{prompts} are done {significant(batch.gain)} times as fast in one pass as one after another."
        case "the same":
            return f"{prompts} are done as fast in one pass as one after another ({significant(batch.gain)} times)."
        case "less":
            return f"{prompts} take {significant(1 / batch.gain)} times as long in one pass as one after another."


def _wait(batch: Batched) -> str:
    """In one pass everybody waits for everybody."""
    times = significant(batch.ttft_ratio)
    ratio = f"at {batch.num_tokens:,} tokens the mean TTFT is {times} times that of taking turns"
    match way(1, batch.ttft_ratio):
        case "more":
            return f"The price is waiting for each other: {ratio}."
        case "the same":
            return f"Waiting for each other costs nothing here: {ratio}."
        case "less":
            return f"Nobody pays for it: {ratio}."
