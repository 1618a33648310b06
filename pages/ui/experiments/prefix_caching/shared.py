"""System prompts shared by many learners: hits in each request, evictions under a budget."""

import statistics
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import percent, scaled, seconds
from inference.prefix_caching.shared import (
    BUDGET_MB,
    MOST_LEARNERS,
    NUM_LEARNERS,
    PRESETS,
    SYSTEM_TOKENS,
    WINS,
    Arrivals,
    SharedRun,
    shared_job,
)
from pages.charts.prefix_caching.blocks import kept_blocks, token_bars
from pages.ui.experiments.compared import way
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job

BUDGETS_MB = (0.5, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 60.0)


@dataclass(frozen=True, slots=True)
class SharedSettings:
    preset: str = WINS
    num_learners: int = NUM_LEARNERS
    system_tokens: int = SYSTEM_TOKENS
    budget_mb: float = BUDGET_MB
    block_size: int = 16


_DEFAULT = SharedSettings()


def shared_prompt(
    settings: SharedSettings = _DEFAULT, *, key: str = "prefix-shared", is_fixed: bool = False
) -> None:
    """Two charts over the same requests, and one paragraph."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        preset = controls.select("Preset", tuple(PRESETS), settings.preset, width=300)
        num_learners = controls.number("Learners", settings.num_learners, 1, MOST_LEARNERS)
        budget_mb = controls.steps(
            "Budget", BUDGETS_MB, settings.budget_mb, format_func=lambda value: f"{value:g} MB"
        )
    arrivals = Arrivals(PRESETS[preset].num_prompts, num_learners, settings.system_tokens)
    job = shared_job(arrivals, budget_mb=budget_mb, block_size=settings.block_size)
    run = run_job(job, key=key, label="Run")
    left, right = st.columns(2)
    with left:
        _draw_tokens(run, num_learners, key)
    with right:
        _draw_kept(run, num_learners, key)
    with st.container(key=f"{key}-words"):
        st.text(words(run) if run else _BEFORE)


_BEFORE = (
    "Each learner's request is a system prompt and a question of their own. Run to see what the cache can hold."
)


def _draw_tokens(run: SharedRun | None, num_learners: int, key: str) -> None:
    served = [arrival.served for arrival in run.arrivals] if run else []
    chart_card(
        lambda: token_bars(served, num_learners, "learner"),
        version=(tuple(served), num_learners),
        key=f"{key}-tokens",
        title="Prompt of each request",
        caption="outlined: from the cache; solid: computed by prefill",
        alt="Tokens of each request's prompt: those from the cache and those that prefill computed.",
        table=lambda: _table(run),
    )


def _draw_kept(run: SharedRun | None, num_learners: int, key: str) -> None:
    chart_card(
        lambda: kept_blocks(run, num_learners),
        version=(run, num_learners),
        key=f"{key}-kept",
        title="Blocks kept after each request",
        caption="numbers in the bars: blocks evicted to make room",
        alt="Bytes of the kept blocks after each request, under the budget, and the blocks evicted for it.",
        table=lambda: _table(run),
    )


def _table(run: SharedRun | None) -> Table:
    arrivals = run.arrivals if run else ()
    return Table(
        ["learner", "system prompt", "blocks hit", "computed tokens", "TTFT, measured", "evicted", "kept"],
        [
            [
                str(place),
                str(arrival.prompt + 1),
                f"{arrival.served.hit_blocks:,}",
                f"{arrival.served.computed_tokens:,}",
                seconds(arrival.served.ttft_s),
                f"{arrival.num_evicted:,}",
                f"{arrival.num_kept:,}",
            ]
            for place, arrival in enumerate(arrivals, start=1)
        ],
    )


def words(run: SharedRun) -> str:
    """The phase it helps, the price, the condition, with the run's numbers."""
    hit = [arrival.served.ttft_s for arrival in run.arrivals if arrival.served.hit_blocks]
    missed = [arrival.served.ttft_s for arrival in run.arrivals if not arrival.served.hit_blocks]
    num_evicted = sum(arrival.num_evicted for arrival in run.arrivals)
    share = f"{percent(run.hit_share)} of all prompt tokens" if hit else "No prompt token"
    sentences = [f"{share} came from the cache."]
    if hit and missed:
        hit_s, missed_s = statistics.median(hit), statistics.median(missed)
        helped = "It helps prefill" if way(missed_s, hit_s) == "less" else "It does not shorten prefill here"
        sentences.append(
            f"{helped}: a median TTFT of {seconds(hit_s)} where something hit ({_requests(len(hit))}) and "
            f"{seconds(missed_s)} where nothing did ({_requests(len(missed))})."
        )
    elif missed and len(missed) > 1:
        sentences.append(f"Prefill computed everything: a median TTFT of {seconds(statistics.median(missed))}.")
    sentences.append(
        f"The price: {scaled(run.kept_bytes, 'B')} of {scaled(run.budget_bytes, 'B')} kept, "
        f"{num_evicted:,} blocks evicted."
    )
    sentences.append(_TURNS if num_evicted and len({arrival.prompt for arrival in run.arrivals}) > 1 else _ONE)
    return " ".join(sentences)


def _requests(number: int) -> str:
    return f"{number:,} request{'s' * (number != 1)}"


_ONE = (
    "The condition: the shared prompt is asked for again before its blocks are the oldest; questions, which nobody "
    "repeats, are evicted first."
)
_TURNS = (
    "The condition is room for all prompts that take turns: the least recently used blocks are evicted, and those "
    "are the ones of the prompt that comes next."
)
