"""Two prompts with the same beginning: what the second one reuses, and its TTFT cold and warm."""

import statistics
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import seconds, significant
from inference.prefix_caching.pair import (
    CHANGED,
    LONGEST_TEXT,
    LOSES,
    PRESETS,
    REPEATS,
    SHARED_TOKENS,
    WINS,
    PairPrompts,
    PairRun,
    pair_job,
)
from inference.prefix_caching.records import CachedPrefill, estimated_ttft_s
from inference.sampling_lab.next_token import Vocabulary
from pages.charts.prefix_caching.blocks import strips
from pages.charts.prefix_caching.ttft import ttft_bars
from pages.ui import state
from pages.ui.experiments.prefix_caching.pair_text import numbers
from pages.ui.experiments.prefix_caching.strip import Pair, prefix_strip
from pages.ui.parts.card import text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import finished, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_TIMES = Bins(((1.25, "hardly shorter"), (5.0, "up to 5 times"), (20.0, "5 to 20 times")), "over 20 times")
PREDICTION = Prediction(
    "prefix",
    f"A prompt that begins with a document of {SHARED_TOKENS:,} tokens has been answered. Another begins with the "
    "same document and asks another question. How many times shorter is its time to the first token, on this "
    "machine?",
    _TIMES.options,
)
OWN = "Two prompts of your own"
BLOCK_SIZES = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class PairSettings:
    preset: str = WINS
    shared_tokens: int = SHARED_TOKENS
    changed: int = CHANGED
    """The second document's token that is another, where the preset changes one; counted from 1."""
    block_size: int = 16
    """Tokens a block: vLLM's default."""
    repeats: int = REPEATS


_DEFAULT = PairSettings()
_OWN_TEXTS = (
    "You are a patient teacher of physics. Answer in two sentences. Why is the sky blue?",
    "You are a patient teacher of physics. Answer in two sentences. Why is the sunset red?",
)


def two_prompts(settings: PairSettings = _DEFAULT, *, key: str = "prefix-pair", is_fixed: bool = False) -> None:
    """Both prompts block by block, two charts, and the numbers of the run."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        preset = controls.select("Preset", (*PRESETS, OWN), settings.preset, width=300)
        block_size = controls.select("Tokens a block", BLOCK_SIZES, settings.block_size, width=130)
        changed = 0
        if preset == LOSES:
            changed = controls.number("Changed token", settings.changed, 1, settings.shared_tokens)
    prompts = PairPrompts(settings.shared_tokens, changed)
    if preset == OWN:
        texts = zip(("First prompt", "Second prompt"), st.columns(2), _OWN_TEXTS, strict=True)
        prompts = PairPrompts(own=_own([_text(controls, *field) for field in texts]))
    job = pair_job(prompts, block_size=block_size, repeats=settings.repeats)
    run = run_job(job, key=key, label="Run")
    ceilings = state.laboratory().ceilings
    left, right = st.columns(2)
    with left:
        _draw_blocks(run, block_size, key)
    with right:
        _draw_ttft(run, ceilings, key)
    text_card(numbers(run), key=f"{key}-numbers")
    _prompts(prompts, block_size, key)


def _text(controls: Controls, label: str, column: "st.delta_generator.DeltaGenerator", text: str) -> str:
    with column:
        return controls.text(label, text, max_chars=LONGEST_TEXT, height=110)


def _own(texts: list[str]) -> tuple[str, str]:
    first, second = texts
    return first, second


def _prompts(prompts: PairPrompts, block_size: int, key: str) -> None:
    lab = state.laboratory()
    pair: Pair | None = None
    vocabulary: Vocabulary | None = None
    if lab.engine is not None:
        first, second = state.remembered(f"{key}-ids", prompts, lambda: lab.with_engine(prompts.token_ids))
        pair, vocabulary = Pair(tuple(first), tuple(second)), lab.engine.token_bytes
    for place, column in enumerate(st.columns(2)):
        shown = pair if pair is None or place == 0 else Pair(pair.other, pair.shown)
        title = "First prompt" if place == 0 else "Second prompt"
        if shown:
            title += f": {len(shown.shown):,} tokens; shaded: blocks that begin alike"
        with column, framed(f"{key}-prompt-{place}"):
            prefix_strip(shown, vocabulary, block_size=block_size, title=title, key=f"{key}-prompt-{place}")


def _rows(run: PairRun | None) -> list[tuple[str, CachedPrefill]]:
    if run is None:
        return []
    rows = [("first", run.first)]
    rows += [("second, cold", run.cold[0])] if run.cold else []
    return rows + ([("second, warm", run.warm[0])] if run.warm else [])


def _draw_blocks(run: PairRun | None, block_size: int, key: str) -> None:
    rows = _rows(run)
    chart_card(
        lambda: strips(rows, 3),
        version=tuple(rows),
        key=f"{key}-blocks",
        title=f"Blocks of {block_size} tokens",
        caption="outlined: hit, copied from the cache; solid: computed by prefill",
        alt="A strip for each request: blocks from the cache, then tokens that prefill computed.",
        table=lambda: Table(
            ["request", "tokens", "blocks hit", "blocks missed", "computed tokens"],
            [
                [
                    name,
                    f"{request.prompt_tokens:,}",
                    str(request.hit_blocks),
                    str(request.missed_blocks),
                    f"{request.computed_tokens:,}",
                ]
                for name, request in rows
            ],
        ),
    )


def _draw_ttft(run: PairRun | None, ceilings: Ceilings | None, key: str) -> None:
    arms = [("cold", run.cold), ("warm", run.warm)] if run and run.warm else []
    likely_s = [_likely_s(run, served[0], ceilings) for _, served in arms] if run and ceilings else []
    chart_card(
        lambda: ttft_bars(arms, 2, likely_s=likely_s),
        version=(tuple(arms), tuple(likely_s)),
        key=f"{key}-ttft",
        title="TTFT of the second prompt",
        caption="cold: empty cache; warm: first prompt kept; a dot for each repeat",
        alt="Time to the first token of the second prompt, cold and warm, measured and estimated.",
        table=lambda: Table(
            ["", "measured", "look-up", "joining blocks", "forward pass", "estimated"],
            [
                [name, *_parts(served), seconds(likely_s[place]) if likely_s else "roofs not measured"]
                for place, (name, served) in enumerate(arms)
            ],
        ),
    )


def _likely_s(run: PairRun, served: CachedPrefill, ceilings: Ceilings) -> float:
    return estimated_ttft_s(
        run.spec, ceilings, prompt_tokens=served.prompt_tokens, cached_tokens=served.cached_tokens
    )


def _parts(served: tuple[CachedPrefill, ...]) -> list[str]:
    parts = (
        [request.ttft_s for request in served],
        [request.lookup_s for request in served],
        [request.assemble_s for request in served],
        [request.forward_s for request in served],
    )
    return [seconds(statistics.median(part)) for part in parts]


def outcome() -> Outcome | None:
    """What the default run found; None until it has been run."""
    run = finished(pair_job())
    if run is None:
        return None
    times = run.speedup
    warm = run.warm[0]
    return Outcome(
        _TIMES.name_of(times),
        f"Measured here: {significant(times)} times, with {warm.computed_tokens:,} of {warm.prompt_tokens:,} "
        "tokens left to compute.",
    )
