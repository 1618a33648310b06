"""The KV cache of the learner's own run as a map: norms of its keys or of its values, layer by position."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import significant
from inference.jobs.experiments import Job
from inference.kv_cache.tensors import ValueNorms, value_norms_job
from inference.trace import Trace
from pages.charts.run.cache_map import norms_map
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import at_once, known, run_job
from pages.ui.screen import sentence

HEIGHT = 360
KINDS = ("keys", "values")
Norms = Sequence[Sequence[float]]
"""[layers] per position."""


@dataclass(frozen=True, slots=True)
class CacheNormsSettings:
    of: str = "keys"
    """"keys" or "values"."""


_DEFAULT = CacheNormsSettings()


def cache_norms(settings: CacheNormsSettings = _DEFAULT, *, key: str = "norms", is_fixed: bool = False) -> None:
    """The map, a choice of keys or values under it, and the way to a run where there is none."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    with row(key):
        of = controls.choice("Norms of", KINDS, settings.of)
    run, problem = state.live_run(), ""
    norms: Norms = ()
    if run is None or not run.trace.steps:
        problem = "There is no run of yours yet: press Prefill there, and come back."
    elif of == "keys":
        norms = run.trace.key_norms
    else:
        norms, problem = _values(value_norms_job(run.generation, run.trace.steps), key)
    with drawing:
        _draw(run.trace if run and norms else None, norms, of, key)
    if problem:
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}-problem"):
            if st.button("Step through a generation", key=f"{key}-go", type="primary"):
                st.switch_page("../lab/step_through.py")
            st.text(problem)


def _values(job: Job[ValueNorms], key: str) -> tuple[Norms, str]:
    """Their norms, or why there are none; while they have to wait, the line of their reading."""
    values, reading = at_once(job), known(job)
    if values is None and (reading is None or reading.state != "failed"):
        values = run_job(job, key=f"{key}-values", label="Read")
    return values.columns if values else (), sentence(reading.problem) if reading and reading.problem else ""


def _draw(trace: Trace | None, norms: Norms, of: str, key: str) -> None:
    num_prompt = len(trace.prompt_tokens) if trace else 0
    num_decoded = len(norms) - num_prompt
    source = "recorded with each pass" if of == "keys" else "read from the run's cache now"
    caption = f"norms of the {of} over all KV heads, measured, {source}; "
    caption += f"prefill wrote {num_prompt:,} columns at once, decode {num_decoded:,} one by one"
    live_chart(
        lambda: norms_map(norms, num_prompt, of=of.removesuffix("s"), height=HEIGHT),
        version=(of, trace and (trace.metadata.date, trace.steps[-1])),
        key=f"{key}-chart",
        title=f"The {of} in your run's KV cache",
        caption=caption if trace else "empty until there is a run",
        alt=f"Norms of the {of}, layers by positions: prefill's columns first, then one per decode step.",
        table=lambda: norms_table(norms, num_prompt, of),
    )


def norms_table(norms: Norms, num_prompt: int, of: str) -> Table:
    rows = []
    for position, column in enumerate(norms):
        phase = "prefill" if position < num_prompt else "decode"
        mean = sum(column) / len(column)
        rows.append([str(position), phase, significant(mean), significant(min(column)), significant(max(column))])
    return Table(["position", "written by", f"mean norm of {of}", "smallest layer", "largest layer"], rows)
