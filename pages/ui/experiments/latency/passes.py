"""One run pass by pass, the learner's own or a recorded one: how long each took, or what its cache held."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import scaled, seconds
from inference.trace import Trace
from pages.charts.run.run import kv_growth, latency_per_pass
from pages.charts.tokens import visible
from pages.ui import state
from pages.ui.parts.controls import Controls
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.token_strip import token_strip

TIME, CACHE = "time per pass", "KV cache"


@dataclass(frozen=True, slots=True)
class PassesSettings:
    shown: str = TIME


_DEFAULT = PassesSettings()
_WORDS = {
    TIME: (
        "first bar prefill, the others decode; dashed: floor, estimated",
        "Bars of the measured time of every pass: prefill first, then the decode steps.",
    ),
    CACHE: (
        "measured from the tensors; dashed: the formula",
        "The KV cache's size by step: written by prefill at once, then one token more per decode.",
    ),
}


def passes(settings: PassesSettings = _DEFAULT, *, key: str = "passes", is_fixed: bool = False) -> None:
    """The tokens of the run, one chart under them, and whose run it is."""
    run = state.live_run()
    is_own = bool(run and run.trace.steps)
    trace = run.trace if run and is_own else state.recorded("lighthouse")
    drawing = framed(f"{key}-chart")
    shown = Controls(key, is_fixed=is_fixed).choice("Shown", tuple(_WORDS), settings.shown, is_label_shown=False)
    draw = latency_per_pass if shown == TIME else kv_growth
    caption, alt = _WORDS[shown]
    with drawing:
        token_strip(trace, shown=len(trace.steps) - 1, key=f"{key}-strip", on_pick=lambda _: None)
        live_chart(
            lambda: draw(trace),
            version=(shown, trace.metadata.date, len(trace.steps)),
            key=f"{key}-bars",
            title="Every pass of this run",
            caption=caption,
            alt=alt,
            table=lambda: _table(trace),
        )
    st.text(_sentence(trace, is_own=is_own))


def _table(trace: Trace) -> Table:
    rows = []
    for step in trace.steps:
        sizes = [f"{step.num_query_tokens:,}", f"{step.context_len:,}", scaled(step.kv_bytes, "B")]
        rows.append([str(step.number), step.phase, visible(step.raw), *sizes, seconds(step.forward_s)])
    return Table(["step", "phase", "token out", "tokens in", "tokens in the cache", "KV cache", "pass"], rows)


def _sentence(trace: Trace, *, is_own: bool) -> str:
    """Whose run, and the count of its passes and of its cache."""
    about, steps = trace.metadata, trace.steps
    whose = "Your own run" if is_own else f"A run recorded {about.date[:10]} with {about.model} on {about.device}"
    return (
        f"{whose}: {_count(len(steps), 'token')} out of 1 prefill and {_count(len(steps) - 1, 'decode step')}. "
        f"The cache holds {steps[-1].context_len:,} tokens, the prompt's {len(trace.prompt_tokens):,} and one per "
        "decode step; the newest token is not among them."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
