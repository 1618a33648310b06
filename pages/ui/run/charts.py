"""The charts of the main screen, each with its title, its takeaway in words and its numbers as a table."""

import math

import streamlit as st

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.cost import kv_bytes
from inference.trace import Trace
from pages.charts.run.cache_map import cache_map
from pages.charts.run.candidates import candidates
from pages.charts.run.roofline import roofline, timed
from pages.charts.run.run import kv_growth, latency_per_pass, step_work
from pages.charts.tokens import visible
from pages.ui import actions, state
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.screen import Screen


def candidates_card(screen: Screen) -> None:
    trace = screen.at
    step = trace.steps[-1] if trace else None
    vocabulary = trace.metadata.spec.vocab_size if trace else 0
    caption = f"probability over all {vocabulary:,} tokens" if trace else "after a pass"
    caption += "; choose one to fork" if trace and not screen.is_recorded else ""
    chart_card(
        lambda: candidates(step, height=148),
        version=screen.version,
        key="candidates",
        title="Next-token candidates",
        caption=caption,
        alt="Bars of the most probable next tokens and their probabilities.",
        table=lambda: _candidates_table(trace),
        on_pick=None if screen.is_recorded else actions.force,
        pick_label="Force",
        expected=screen.shown,
    )


def charts(screen: Screen) -> None:
    trace = screen.at
    whose = "the recording machine's" if screen.is_recorded else "this machine's"
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: latency_per_pass(trace),
            version=screen.version,
            key="latency",
            title="Latency per pass",
            caption=f"first bar prefill, the others decode; dashed: {whose} floor, estimated",
            alt="Bars of the measured time of every pass: prefill first, then the decode steps.",
            table=lambda: _latency_table(trace),
            on_pick=actions.look_at_picked,
        )
    with right:
        chart_card(
            lambda: kv_growth(trace),
            version=screen.version,
            key="kv",
            title="KV cache",
            caption="measured from the tensors; dashed: the formula",
            alt="The KV cache's size by step: written by prefill at once, then one token more per decode.",
            table=lambda: _kv_table(trace),
        )
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: roofline(trace),
            version=screen.version,
            key="roofline",
            title="Roofline",
            caption=_roofline_caption(trace, whose),
            alt="Achieved FLOP/s of every pass against its FLOPs per byte, under the measured roofs.",
            table=lambda: _roofline_table(trace),
            on_pick=actions.look_at_picked,
        )
    written = len(trace.prompt_tokens) if trace else 0
    with right:
        chart_card(
            lambda: cache_map(trace),
            version=screen.version,
            key="map",
            title="Cache map",
            caption=f"key norms, measured; prefill wrote {written:,} columns at once",
            alt="Key norms, layers by positions: prefill's columns first, then one per decode step.",
            table=lambda: _map_table(trace),
        )


def _roofline_caption(trace: Trace | None, whose: str) -> str:
    if trace is None or trace.ceilings is not None:
        return f"this run's passes, measured, under {whose} measured roofs"
    lab = state.laboratory()
    if lab.ceilings_fraction is None:
        return lab.ceilings_problem or f"{whose} roofs were not measured"
    return f"measuring this machine's roofs: {percent(lab.ceilings_fraction)}"


def _candidates_table(trace: Trace | None) -> Table:
    columns = ["token", "id", "model", "under these settings", ""]
    if trace is None:
        return Table(columns, [])
    rows = trace.steps[-1].candidates
    return Table(
        columns,
        [
            [visible(row.raw), str(row.token_id), percent(row.probability), percent(row.sampling_probability)]
            for row in rows
        ],
        picks=[row.token_id for row in rows],
    )


def _latency_table(trace: Trace | None) -> Table:
    rows = [
        [
            *(str(step.number), step.phase, visible(step.raw), percent(math.exp(step.logprob))),
            *(seconds(step.forward_s), seconds(step.queue_s), seconds(step.sample_s)),
        ]
        for step in (trace.steps if trace else ())
    ]
    return Table(["step", "phase", "token", "probability", "pass", "queue", "sampling"], rows)


def _kv_table(trace: Trace | None) -> Table:
    columns = ["step", "tokens cached", "bytes, measured", "bytes, formula"]
    if trace is None:
        return Table(columns, [])
    expected = [kv_bytes(trace.metadata.spec, context_len=step.context_len) for step in trace.steps]
    return Table(
        columns,
        [
            [str(step.number), f"{step.context_len:,}", f"{step.kv_bytes:,}", f"{formula:,.0f}"]
            for step, formula in zip(trace.steps, expected, strict=True)
        ],
    )


def _roofline_table(trace: Trace | None) -> Table:
    rows = []
    for step in timed(trace) if trace else []:
        work = step_work(trace, step) if trace else None
        if work is not None:
            rate = scaled(work.flops / step.forward_s, "FLOP/s")
            rows.append([str(step.number), step.phase, significant(work.intensity), rate])
    return Table(["step", "phase", "FLOP per byte, estimated", "achieved"], rows)


def _map_table(trace: Trace | None) -> Table:
    rows = []
    for position, column in enumerate(trace.key_norms if trace else []):
        phase = "prefill" if trace and position < len(trace.prompt_tokens) else "decode"
        mean = sum(column) / len(column)
        rows.append([str(position), phase, significant(mean), significant(min(column)), significant(max(column))])
    return Table(["position", "written by", "mean key norm", "smallest", "largest"], rows)
