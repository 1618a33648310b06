"""A prompt arrives while streams decode: fed whole, and in chunks under a limit of tokens per pass."""

from dataclasses import dataclass

import streamlit as st

from inference.batching.presets import CHUNK, LONG_PROMPT, NEWCOMERS, STREAMS, chunked_job
from pages.charts.batching.batching import gaps_chart
from pages.ui.experiments.batching.stall import stall, stall_totals
from pages.ui.experiments.batching.text import passes_table
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import chart_card
from pages.ui.parts.measurement import run_job

_LIMITS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class ChunkedPrefillSettings:
    preset: str = LONG_PROMPT
    """One of NEWCOMERS."""
    tokens_per_pass: int = CHUNK


_DEFAULT = ChunkedPrefillSettings()


def chunked_prefill(
    settings: ChunkedPrefillSettings = _DEFAULT, *, key: str = "chunked", is_fixed: bool = False
) -> None:
    """The running streams' gaps under both rules, and the newcomer's TTFT beside them."""
    controls = Controls(key, is_fixed=is_fixed)
    measuring, drawing = st.container(), st.container()
    with row(key):
        preset = controls.select("Newcomer", list(NEWCOMERS), settings.preset, width=330)
        limit = controls.steps("Tokens per pass", _LIMITS, settings.tokens_per_pass)
    with measuring:
        comparison = run_job(chunked_job(NEWCOMERS[preset], limit), key=key, label="Serve with and without chunks")
    arms = comparison.arms if comparison else ()
    with drawing:
        chart_card(
            lambda: gaps_chart(arms),
            version=arms,
            key=f"{key}-chart",
            title="ITL of the running streams",
            caption="each circle is a gap between two tokens of one stream; shaded: the newcomer waits for its "
            "first token",
            alt="Gaps between tokens of the running streams over time, with the whole prompt in one pass above and "
            "in chunks below.",
            table=lambda: passes_table(arms),
        )
    table_card(
        stall_totals(arms),
        key=f"{key}-totals",
        title="What it costs whom",
        caption=f"{len(STREAMS)} streams decode; a prompt of {NEWCOMERS[preset]:,} tokens arrives.",
    )
    with drawing, st.container(key=f"{key}-words"):
        st.text(stall(comparison) if comparison and comparison.is_done else _UNMEASURED)


_UNMEASURED = (
    "A pass takes as long as everything in it. With the whole prompt in one pass every stream waits for it; with a "
    "limit the streams are served first and the prompt gets what is left of each pass."
)
