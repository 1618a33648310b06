"""The words and numbers of one run: where it runs, what the pass on the screen did, and its latencies."""

import statistics

import streamlit as st

from inference.arithmetic.roofline import explained
from inference.arithmetic.units import scaled, seconds, significant
from inference.trace import Step, Trace
from pages.charts.run.explained import explanation
from pages.charts.run.run import step_work
from pages.charts.tokens import visible
from pages.ui import state
from pages.ui.parts.card import Card, Figure, text_card
from pages.ui.screen import Screen


def subtitle(screen: Screen) -> None:
    if screen.trace is not None:
        about = screen.trace.metadata
        where = f"recorded on {about.device}" if screen.is_recorded else f"on this machine’s {about.device}"
        words = f"{about.model}, {about.dtype}, {where}."
        words += " Random weights: real timing, noise for text." if about.has_random_weights else ""
    else:
        lab = state.laboratory()
        words = f"{lab.engine.name} is ready. {lab.engine.note}" if lab.engine else "There is no model yet."
    with st.container(key="subtitle"):
        st.text(words.strip() + " Everything below was measured in this run or computed from it.")


def pass_card(screen: Screen) -> None:
    trace = screen.at
    text_card(_pass(trace) if trace else _EMPTY, key="pass")


_PASS_HEIGHT = 219  # as tall as the candidates beside it
_EMPTY = Card(
    height=_PASS_HEIGHT,
    kicker="No pass yet",
    title="Prefill reads the whole prompt at once",
    note="Then each Next token is one decode pass: one token in, one token out.",
)


def _pass(trace: Trace) -> Card:
    step = trace.steps[-1]
    work = step_work(trace, step)
    tokens_in = f"{step.num_query_tokens:,} token{'s' * (step.num_query_tokens != 1)} in"
    cache = scaled(work.kv_read_bytes + work.kv_write_bytes, "B")
    parts = f"weights {scaled(work.weight_bytes, 'B')}, KV cache {cache}"
    parts += f", activations {scaled(work.activation_bytes, 'B')}"
    return Card(
        kicker=step.phase.capitalize(),
        title=f"{tokens_in}, 1 token out",
        note=f"{step.context_len:,} tokens in the cache; “{visible(step.raw)}” is not among them yet."
        + _chunks(step),
        figures=(
            Figure(seconds(step.forward_s), "measured"),
            Figure(scaled(work.flops, "FLOP"), "work, estimated"),
            Figure(scaled(work.bytes, "B"), "moved, estimated", parts),
            Figure(significant(work.intensity), "FLOP per byte"),
        ),
        sentence=_verdict(trace, step),
        accent=step.phase,
        height=_PASS_HEIGHT,
    )


def _chunks(step: Step) -> str:
    return f" Fed in {len(step.chunks)} chunks, so that others could step between them." if step.chunks else ""


def _verdict(trace: Trace, step: Step) -> str:
    if trace.ceilings is None:
        return "The machine's roofs were not measured, so the limit of this pass is not known."
    if step.forward_s <= 0:
        return "This pass was recorded with no time, so its limit is not known."
    return explanation(explained(step_work(trace, step), step.forward_s, trace.ceilings))


def metrics_row(screen: Screen) -> None:
    note = "Measured: waiting, rebuilding and sampling included; your own pauses between steps are not."
    text_card(Card(figures=_metrics(screen.at), sentence=note), key="metrics")


def _metrics(trace: Trace | None) -> tuple[Figure, ...]:
    gaps = trace.itl_s if trace else []
    values = {
        "TTFT": seconds(trace.ttft_s) if trace else "–",
        "ITL, median": seconds(statistics.median(gaps)) if gaps else "–",
        "ITL, spread": f"{seconds(min(gaps))} to {seconds(max(gaps))}" if gaps else "–",
        "tokens per second in decode": significant(trace.tps) if trace and trace.tps else "–",
        "end to end": seconds(trace.e2e_s) if trace else "–",
    }
    return tuple(Figure(value, label) for label, value in values.items())
