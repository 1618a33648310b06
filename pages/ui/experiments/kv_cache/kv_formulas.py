"""The bytes of one KV cache: measured on its tensors, by the formula, and by the two usual wrong formulas."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled, significant
from inference.catalogue import models
from inference.kv_cache.formulas import cache_bytes, formulas, window_factor
from inference.kv_cache.tensors import measured_cache_job
from inference.trace import Step
from pages.charts.kv_cache.kv_formulas import Bar
from pages.charts.kv_cache.kv_formulas import kv_formulas as chart
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import data_table
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import run_job

RUNNING = "running"
"""In place of a catalogue id: the model that runs here, whose cache can be measured."""
MOST_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class KvFormulasSettings:
    model: str = RUNNING
    """Id of a catalogue model, or RUNNING."""
    context_len: int = 0
    """Tokens in the cache; 0 for as many as the learner's own run holds, or 512 without one."""


_DEFAULT = KvFormulasSettings()
_WITHOUT_RUN = 512


@dataclass(frozen=True, slots=True)
class _Measured:
    num_bytes: int
    words: str


def kv_formulas(settings: KvFormulasSettings = _DEFAULT, *, key: str = "formulas", is_fixed: bool = False) -> None:
    """One chart, one line of settings, and the formulas written out."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    with row(key):
        names = {RUNNING: "the model running here"} | {name: spec.name for name, spec in models().items()}
        model = controls.select("Model", list(names), settings.model, format_func=lambda name: names[name])
        context_len = controls.number("Tokens in the cache", settings.context_len or _own_length(), 1, MOST_TOKENS)
    is_here = model == RUNNING
    measured = _measured(context_len, key) if is_here else None
    engine = state.laboratory().engine
    spec = models().get(model) or (engine.spec if engine else None)
    with drawing:
        _chart(spec, context_len, measured, key, is_here=is_here)
    if spec is None:
        st.text("The model is not ready: choose one of the catalogue, or wait.")
        return
    with st.container(key=f"{key}-words"):
        st.text(words(spec, context_len))
    data_table(formula_table(spec), key=f"{key}-table")


def _own_length() -> int:
    run = state.live_run()
    return run.trace.steps[-1].context_len if run and run.trace.steps else _WITHOUT_RUN


def _measured(context_len: int, key: str) -> _Measured | None:
    """The learner's own run at that length where it has been there; else a cache filled for it, once asked."""
    if step := _own_step(context_len):
        with st.container(key=f"{key}-measure"):
            st.text(f"Measured in your own run: the tensors of its KV cache after step {step.number}.")
        return _Measured(step.kv_bytes, f"your run, step {step.number}")
    result = run_job(measured_cache_job(context_len), key=key, label="Measure this cache")
    return _Measured(result.kv_bytes, "a cache filled for it") if result else None


def _own_step(context_len: int) -> Step | None:
    run = state.live_run()
    steps = run.trace.steps if run else []
    return next((step for step in steps if step.context_len == context_len), None)


def _chart(
    spec: ModelSpec | None, context_len: int, measured: _Measured | None, key: str, *, is_here: bool
) -> None:
    bars = [] if spec is None else formula_bars(spec, context_len)
    if bars and is_here:
        bars.insert(0, Bar("tensors", measured.num_bytes if measured else 0, is_measured=True))
    about = f"{spec.name}, {_bits(spec)}-bit cache; " if spec else "the model is loading; "
    if is_here:
        about += f"solid: measured{f' in {measured.words}' if measured else ''}; "
    live_chart(
        lambda: chart(bars),
        version=tuple(bars),
        key=f"{key}-chart",
        title=f"KV cache of {context_len:,} tokens",
        caption=f"{about}dashed: by formula",
        alt="Bars of the cache's bytes: measured, by KV heads, by query heads and by the hidden width.",
        table=lambda: Table(
            ["counted by", "bytes", "times the right ones"],
            [
                [bar.name, f"{bar.num_bytes:,.0f}", "measured" if bar.is_measured else significant(bar.times_right)]
                for bar in bars
            ],
        ),
    )


def formula_bars(spec: ModelSpec, context_len: int) -> list[Bar]:
    return [
        Bar(formula.name, cache_bytes(spec, formula, context_len=context_len), False, formula.times_right)
        for formula in formulas(spec)
    ]


def formula_table(spec: ModelSpec) -> Table:
    """Each formula with its numbers; the factor each is off."""
    rows = [
        [formula.name, _off(formula.times_right), scaled(formula.bytes_per_token, "B"), f"= {formula.written}"]
        for formula in formulas(spec)
    ]
    return Table(["counted by", "off by", "per token", "written out"], rows)


def _off(times: float) -> str:
    return "right" if times == 1 else f"{significant(times)} times"


def words(spec: ModelSpec, context_len: int) -> str:
    """Why the wrong formulas are wrong for this model, or why they are not."""
    _, by_heads, by_width = formulas(spec)
    sentences = [_sharing(spec, significant(by_heads.times_right))]
    if by_width.times_right == 1 != by_heads.times_right:
        sentences.append("The hidden width gives the right number by accident: the KV heads together are as wide.")
    slid = window_factor(spec, context_len=context_len)
    if slid > 1:
        sentences.append(
            f"Counting the sliding layers in full here would be a third mistake: {significant(slid)} times."
        )
    if context_len > spec.max_context:
        sentences.append(f"The model's own context ends at {spec.max_context:,} tokens.")
    return " ".join(sentences)


def _sharing(spec: ModelSpec, times: str) -> str:
    heads, kv_heads = spec.num_query_heads, spec.num_kv_heads
    if spec.mla:
        return (
            f"One latent vector and one rotary key serve all {heads} heads (MLA): expanded to a key and a value "
            f"per head they would be {times} times the bytes."
        )
    if kv_heads == heads:
        return "Every query head has a KV head of its own (MHA), so counting query heads is right here."
    shared = "one KV head (MQA)" if kv_heads == 1 else f"{kv_heads} KV heads (GQA)"
    return f"{heads} query heads share {shared}: counting query heads gives {times} times the bytes."


def _bits(spec: ModelSpec) -> str:
    return f"{spec.kv_bits:g}"
