"""The next token with the KV cache and without it: two counters, work and time."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import count, seconds, significant
from inference.kv_cache.recompute import (
    LONGEST,
    SHORTEST,
    are_alike,
    crossing,
    lengths_to,
    pairs,
    ratio,
    recompute_job,
    token_forwards,
)
from inference.machine.sweeps import Sweep, SweepPoint
from pages.charts.kv_cache.recompute import time_chart, token_forwards_chart
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import finished, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_TIMES = Bins(((2.0, "under 2 times"), (10.0, "2 to 10 times"), (100.0, "10 to 100 times")), "over 100 times")
PREDICTION = Prediction(
    "recompute",
    f"Without the KV cache the model reads the whole text again for every token. How much longer does one token "
    f"take then, at {LONGEST:,} tokens of context, on this machine?",
    _TIMES.options,
)


@dataclass(frozen=True, slots=True)
class RecomputeSettings:
    longest: int = LONGEST
    """Tokens of the longest context that is timed."""
    prompt_tokens: int = 1000
    new_tokens: int = 500
    """Of the generation whose token-forwards are counted."""


_DEFAULT = RecomputeSettings()
_MOST = 131_072


def with_and_without(
    settings: RecomputeSettings = _DEFAULT, *, key: str = "recompute", is_fixed: bool = False
) -> None:
    """Two charts side by side, time and work, and one sentence on where the arms part."""
    controls = Controls(key, is_fixed=is_fixed)
    measuring, drawing, telling = st.container(), st.container(), st.container(key=f"{key}-words")
    with row(key):
        longest = controls.number("Longest context timed", settings.longest, SHORTEST, _MOST)
        prompt_tokens = controls.number("Prompt, counted", settings.prompt_tokens, 1, _MOST)
        new_tokens = controls.number("New tokens, counted", settings.new_tokens, 1, _MOST)
    with measuring:
        sweep = run_job(recompute_job(lengths_to(longest)), key=key)
    point_pairs = pairs(sweep) if sweep else []
    most = sweep.spec.max_context if sweep else _MOST
    lengths = [length for length in lengths_to(longest) if length <= most]
    with drawing:
        left, right = st.columns(2)
        with left:
            _time(point_pairs, lengths, key)
        with right:
            _work(prompt_tokens, new_tokens, key)
    with telling:
        st.text(words(sweep, lengths) if sweep and point_pairs else _UNMEASURED)


_UNMEASURED = "Work is known by counting; what it costs in time is not: measure it."


def _time(point_pairs: Sequence[tuple[SweepPoint, SweepPoint]], lengths: Sequence[int], key: str) -> None:
    chart_card(
        lambda: time_chart(point_pairs, lengths),
        version=(tuple(point_pairs), tuple(lengths)),
        key=f"{key}-time",
        title="Time of the next token",
        caption="median and quartiles of repeats that take turns; both axes grow by factors",
        alt="Measured time of the next token against the context length, with the KV cache and without it.",
        table=lambda: Table(
            ["tokens", "with cache", "quartiles", "without cache", "quartiles", "times as long"],
            [_line(pair) for pair in point_pairs],
        ),
    )


def _line(pair: tuple[SweepPoint, SweepPoint]) -> list[str]:
    cells = [f"{pair[0].setting.context_len:,}"]
    for point in pair:
        cells += [seconds(point.median_s), f"{seconds(point.lower_s)} to {seconds(point.upper_s)}"]
    return [*cells, significant(ratio(pair))]


def _work(prompt_tokens: int, new_tokens: int, key: str) -> None:
    once, again = token_forwards(prompt_tokens=prompt_tokens, new_tokens=new_tokens)
    chart_card(
        lambda: token_forwards_chart(prompt_tokens, new_tokens),
        version=(prompt_tokens, new_tokens),
        key=f"{key}-work",
        title="Work: tokens fed through the model",
        caption=f"after a prompt of {prompt_tokens:,}: {significant(again / once)} times as many without the cache",
        alt="Tokens fed through the model against tokens generated: a line with the cache, a parabola without.",
        table=lambda: Table(
            ["tokens generated", "fed with cache", "fed without cache"],
            [
                [
                    f"{count:,}",
                    *(f"{fed:,}" for fed in token_forwards(prompt_tokens=prompt_tokens, new_tokens=count)),
                ]
                for count in sorted({max(new_tokens * tenth // 10, 1) for tenth in range(1, 11)})
            ],
        ),
    )


def words(sweep: Sweep, lengths: Sequence[int]) -> str:
    """The ratio at both ends; once all `lengths` are there, where the arms cross or that they do not."""
    point_pairs = pairs(sweep)
    first, last = point_pairs[0], point_pairs[-1]
    sentences = [
        f"Without the cache one token takes {_at(first)}" + (f" and {_at(last)}." if last != first else ".")
    ]
    if last[0].setting.context_len < lengths[-1]:
        return sentences[0]  # it goes on, or was cancelled
    if (where := crossing(sweep)) is not None:
        sentences.append(f"The arms cross at about {count(where)} tokens.")
    elif ratio(last) <= 1:
        sentences.append("The arms do not cross: the cache saves no time at any of these lengths.")
    else:
        sentences.append("The arms do not cross: by the medians the cache is ahead at every length.")
    alike = [f"{pair[0].setting.context_len:,}" for pair in point_pairs if are_alike(pair)]
    if alike:
        sentences.append(f"At {', '.join(alike)} tokens their quartiles overlap: no difference was measured there.")
    return " ".join([*sentences, _WHY])


_WHY = (
    "Reading again is a prefill and runs at the full arithmetic rate, so time grows less than work; and at short "
    "lengths on fast hardware the two do not differ at all: both wait for the weights, or for overhead."
)


def _at(pair: tuple[SweepPoint, SweepPoint]) -> str:
    return f"{significant(ratio(pair))} times as long at {pair[0].setting.context_len:,} tokens"


def outcome() -> Outcome | None:
    """What the default sweep found at its longest length; None until it has been measured."""
    sweep = finished(recompute_job())
    point_pairs = pairs(sweep) if sweep else []
    if not point_pairs:
        return None
    times = ratio(point_pairs[-1])
    at = point_pairs[-1][0].setting.context_len
    return Outcome(
        _TIMES.name_of(times), f"Measured here: {significant(times)} times, for {at:,} times the tokens."
    )
