"""The KV cache of the learner's own run as a map: norms of its keys or of its values, layer by position."""

from collections.abc import Sequence
from concurrent.futures import TimeoutError as WaitedTooLongError
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from inference.arithmetic.units import significant
from inference.jobs.worker import BusyError
from inference.kv_cache.tensors import value_norms
from inference.trace import Trace
from pages.charts.run.cache_map import norms_map
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.screen import sentence

if TYPE_CHECKING:
    from inference.server.runs import Run

HEIGHT = 360
KINDS = ("keys", "values")
_PATIENCE_S = 20  # for one pass of another learner, not more
Norms = Sequence[Sequence[float]]
"""[layers] per position."""


@dataclass(frozen=True, slots=True)
class CacheNormsSettings:
    of: str = "keys"
    """"keys" or "values"."""


_DEFAULT = CacheNormsSettings()


@dataclass(frozen=True, slots=True)
class _Map:
    trace: Trace | None = None
    norms: Norms = ()
    problem: str = ""


def cache_norms(settings: CacheNormsSettings = _DEFAULT, *, key: str = "norms", is_fixed: bool = False) -> None:
    """The map, a choice of keys or values under it, and the way to a run where there is none."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    with row(key):
        of = controls.choice("Norms of", KINDS, settings.of)
    found = _map(state.live_run(), of, key)
    with drawing:
        _draw(found, of, key)
    if found.problem:
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}-problem"):
            if st.button("Step through a generation", key=f"{key}-go", type="primary"):
                st.switch_page("../lab/step_through.py")
            st.text(found.problem)


def _map(run: "Run | None", of: str, key: str) -> _Map:
    if run is None or not run.trace.steps:
        return _Map(problem="There is no run of yours yet: press Prefill there, and come back.")
    if of == "keys":
        return _Map(run.trace, run.trace.key_norms)
    newest = run.trace.steps[-1]
    version = (run.trace.metadata.date, newest.index, newest.token_id)
    try:
        trace, norms = state.remembered(f"{key}-values", version, lambda: _read_values(run))
    except (BusyError, WaitedTooLongError) as error:
        return _Map(
            problem=sentence(error) if str(error) else "The model is busy; choose values again in a moment."
        )
    if norms is None:
        problem = "This run's cache was given up for memory, its values with it; the next token there rebuilds it."
        return _Map(problem=problem)
    return _Map(trace, norms)


def _read_values(run: "Run") -> tuple[Trace, Norms | None]:
    """Read in the worker, between passes: only there the cache stands still."""
    asked = state.laboratory().worker.submit(lambda queue_s: (run.trace, value_norms(run.generation)))
    return asked.result(_PATIENCE_S)


def _draw(found: _Map, of: str, key: str) -> None:
    num_prompt = len(found.trace.prompt_tokens) if found.trace else 0
    num_decoded = len(found.norms) - num_prompt
    source = "recorded with each pass" if of == "keys" else "read from the run's cache now"
    caption = f"norms of the {of} over all KV heads, measured, {source}; "
    caption += f"prefill wrote {num_prompt:,} columns at once, decode {num_decoded:,} one by one"
    live_chart(
        lambda: norms_map(found.norms, num_prompt, of=of.removesuffix("s"), height=HEIGHT),
        version=(of, found.trace and (found.trace.metadata.date, found.trace.steps[-1])),
        key=f"{key}-chart",
        title=f"The {of} in your run's KV cache",
        caption=caption if found.trace else "empty until there is a run",
        alt=f"Norms of the {of}, layers by positions: prefill's columns first, then one per decode step.",
        table=lambda: norms_table(found.norms, num_prompt, of),
    )


def norms_table(norms: Norms, num_prompt: int, of: str) -> Table:
    rows = []
    for position, column in enumerate(norms):
        phase = "prefill" if position < num_prompt else "decode"
        mean = sum(column) / len(column)
        rows.append([str(position), phase, significant(mean), significant(min(column)), significant(max(column))])
    return Table(["position", "written by", f"mean norm of {of}", "smallest layer", "largest layer"], rows)
