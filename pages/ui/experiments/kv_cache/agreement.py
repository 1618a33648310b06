"""Whether the model says the same without its KV cache: logit difference and first other token, per dtype."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import streamlit as st

from inference.arithmetic.units import significant
from inference.kv_cache.agreement import DTYPES, MOST_TOKENS, NUM_TOKENS, Agreement, agreement_job
from pages.charts.kv_cache.agreement import agreement as agreement_chart
from pages.ui.parts.card import Card, Figure, text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job


@dataclass(frozen=True, slots=True)
class AgreementSettings:
    num_tokens: int = NUM_TOKENS


_DEFAULT = AgreementSettings()
_WHY = (
    "Both ways compute the same sums, in passes of different shapes, so they are added up in another order and "
    "may be rounded differently. Where two tokens are almost equally likely, that decides between them, and the "
    "texts part. Here both ways are always fed the tokens chosen with the cache."
)


def agreement(settings: AgreementSettings = _DEFAULT, *, key: str = "agreement", is_fixed: bool = False) -> None:
    """The differences token by token, and one card a dtype."""
    controls = Controls(key, is_fixed=is_fixed)
    measuring, drawing = st.container(), st.container()
    with row(key):
        num_tokens = controls.number("Tokens compared", settings.num_tokens, 2, MOST_TOKENS)
    with measuring:
        known = run_job(agreement_job(num_tokens), key=key, label="Compare the answers")
    by_dtype = (
        {comparison.dtype: comparison for comparison in known.dtypes if comparison.differences} if known else {}
    )
    with drawing:
        _draw(tuple(by_dtype.values()), num_tokens, key)
        for column, dtype in zip(st.columns(len(DTYPES)), DTYPES, strict=True):
            with column:
                text_card(_card(dtype, by_dtype.get(dtype)), key=f"{key}-{dtype}")
        with st.container(key=f"{key}-words"):
            st.text(words(tuple(by_dtype.values())))


def words(comparisons: Sequence[Agreement]) -> str:
    """Why the logits differ, and in which dtype they do so more."""
    if len(comparisons) < len(DTYPES):
        return _WHY
    least, most = sorted(comparisons, key=lambda comparison: comparison.largest)
    if most.largest == least.largest:
        return f"{_WHY} Both dtypes differ by as much here."
    return (
        f"{_WHY} {most.dtype} differs by up to {significant(most.largest)}, {least.dtype} by up to "
        f"{significant(least.largest)}."
    )


def _draw(comparisons: tuple[Agreement, ...], num_tokens: int, key: str) -> None:
    chart_card(
        lambda: agreement_chart(comparisons, num_tokens),
        version=(comparisons, num_tokens),
        key=f"{key}-chart",
        title="Logits with the cache against without",
        caption="greedy decoding of one fixed prompt; the first token is the same prefill both ways",
        alt="Largest difference of any logit with and without the KV cache, token by token, in each dtype.",
        table=lambda: Table(
            ["token", *(f"{comparison.dtype}, measured" for comparison in comparisons)],
            [
                [str(number), *(significant(value) if value is not None else "" for value in values)]
                for number, values in enumerate(
                    zip_longest(*(comparison.differences for comparison in comparisons)), start=1
                )
            ],
        ),
    )


def _card(dtype: str, comparison: Agreement | None) -> Card:
    if comparison is None:
        return Card(kicker=dtype, note="Not compared yet.", height=_HEIGHT)
    num_tokens = len(comparison.differences)
    where = "none" if comparison.first_differing is None else f"token {comparison.first_differing:,}"
    return Card(
        kicker=dtype,
        figures=(
            Figure(significant(comparison.largest), "largest logit difference, measured"),
            Figure(where, f"first to differ, of {num_tokens:,}"),
        ),
        height=_HEIGHT,
    )


_HEIGHT = 84
