"""A constrained output, token by token: boxed where the mask overrode the model, dotted where it forced one."""

from pathlib import Path

import streamlit as st

from inference.structure.records import StructuredRun, StructuredStep
from pages.charts.sampling.structured import share
from pages.charts.tokens import hex_bytes, visible
from pages.ui import state

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_masked_strip",
    html='<div class="strip" role="group" aria-label="Output, token by token" tabindex="0"></div>',
    css=(_HERE / "masked_strip.css").read_text(),
    js=(_HERE / "masked_strip.js").read_text(),
)


def picked_step(run: StructuredRun, *, key: str) -> int | None:
    """The token the learner last chose in this run; None before that."""
    index = state.told_index(key, "picked")
    is_of_this_run = state.told(key, "picked").get("run") == _name(run)
    return index if index is not None and is_of_this_run and 0 <= index < len(run.steps) else None


def masked_strip(run: StructuredRun | None, *, shown: int, key: str, hint: str) -> None:
    """Draw the tokens; step `shown` is selected. `hint` stands there before there are any."""
    tokens = state.remembered(key, run, lambda: [_token(step) for step in run.steps] if run else [])
    data = {"tokens": tokens, "shown": shown, "hint": hint, "run": _name(run) if run else ""}
    _component(data=data, key=key, on_picked_change=_nothing)


def _token(step: StructuredStep) -> dict[str, str]:
    hint = f"token {step.index + 1}, id {step.token_id}, bytes {hex_bytes(step.raw)}, "
    hint += f"feasible mass {share(step.feasible_mass)}, {step.num_allowed:,} allowed"
    kinds = [name for name, holds in (("overridden", step.is_overridden), ("forced", step.is_forced)) if holds]
    return {"label": visible(step.raw), "kind": " ".join(kinds), "hint": hint}


def _name(run: StructuredRun) -> str:
    """No two runs took the same time for their first pass."""
    return repr(run.steps[0].forward_s)


def _nothing() -> None:
    """A component's state exists only where a callback is given for it."""
