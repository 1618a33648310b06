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
    found = both(sweep) if sweep else []
    with drawing:
        _draw(found, count, key)


def _draw(found: Sequence[Batched], count: int, key: str) -> None:
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: together_chart(found),
            version=tuple(found),
            key=f"{key}-all",
            title=f"Until all {count} prompts have a token",
            caption=f"one after another: {count} times the measured pass of one; both axes grow by factors",
            alt="Measured time until every prompt has its first token, in one pass and one after another.",
            table=lambda: _table(found),
        )
    with right:
        chart_card(
            lambda: mean_ttft_chart(found),
            version=tuple(found),
            key=f"{key}-mean",
            title="Mean TTFT of the prompts",
            caption="all there at the start; in one pass everybody waits for everybody",
            alt="Mean time to first token of the prompts, in one pass and one after another.",
            table=lambda: _table(found),
        )
    with st.container(key=f"{key}-words"):
        st.text(words(found))


def _table(found: Sequence[Batched]) -> Table:
    return Table(
        ["tokens each", "one prompt", "all in one pass", "all in turn", "gain", "mean TTFT in turn"],
        [
            [
                f"{one.num_tokens:,}",
                seconds(one.alone.median_s),
                seconds(one.together.median_s),
                seconds(one.in_turn_s),
                f"{significant(one.gain)} times",
                seconds(one.ttft_in_turn_s),
            ]
            for one in found
        ],
    )


def words(found: Sequence[Batched]) -> str:
    if not found:
        return (
            "Decode gains from batching because one sequence leaves the arithmetic idle. A prompt brings many "
            "tokens of its own: measure what is left to gain."
        )
    shortest, longest = found[0], found[-1]
    told = [_gain(shortest)]
    if longest is not shortest:
        told.append(_gain(longest))
        if way(shortest.gain, longest.gain) == "less":
            told.append("The longer a prompt, the more of the machine it fills on its own, and the less is left.")
        told.append(_wait(longest))
    if way(1, shortest.gain) == "more":
        told.append("The condition is prompts with fewer tokens than the machine needs to be busy.")
    return " ".join(told)


def _gain(one: Batched) -> str:
    prompts = f"{one.num_prompts} prompts of {one.num_tokens:,} token{'s' * (one.num_tokens != 1)}"
    match way(1, one.gain):
        case "more":
            return f"{prompts} are done {significant(one.gain)} times as fast in one pass as one after another."
        case "the same":
            return f"{prompts} are done as fast in one pass as one after another ({significant(one.gain)} times)."
        case "less":
            return f"{prompts} take {significant(1 / one.gain)} times as long in one pass as one after another."


def _wait(one: Batched) -> str:
    """In one pass everybody waits for everybody."""
    ratio = (
        f"at {one.num_tokens:,} tokens the mean TTFT is {significant(one.ttft_ratio)} times that of taking turns"
    )
    match way(1, one.ttft_ratio):
        case "more":
            return f"The price is waiting for each other: {ratio}."
        case "the same":
            return f"Waiting for each other costs nothing here: {ratio}."
        case "less":
            return f"Nobody pays for it: {ratio}."
