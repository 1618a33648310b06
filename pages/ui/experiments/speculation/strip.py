"""The answer of a speculative run, token by token: filled where a draft was accepted, dashed where not."""

from pathlib import Path

import streamlit as st

from inference.speculation.records import Round, Speculated
from pages.charts.tokens import visible
from pages.ui import state

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_speculation_strip",
    html='<div class="strip" role="group" aria-label="Answer, token by token" tabindex="0"></div>',
    css=(_HERE.parents[1] / "parts/browser/token_strip.css").read_text() + (_HERE / "strip.css").read_text(),
    js=(_HERE.parents[1] / "parts/browser/token_strip.js").read_text(),
)
_OWN = {
    "correction": "the model's correction",
    "bonus": "one more from the same pass: every draft was right",
    "alone": "no draft: a plain step",
}


def speculation_strip(run: Speculated | None, *, key: str) -> None:
    tokens = state.remembered(key, run, lambda: _tokens(run) if run else [])
    data = {"tokens": tokens, "shown": -1, "hint": "The answer appears here, round by round. Press Run both ways."}
    _component(data=data, key=key, on_picked_change=_nothing)


def token_text(*token_ids: int) -> str:
    """As the screen writes it."""
    engine = state.laboratory().engine
    return visible(b"".join(engine.token_bytes[token_id] for token_id in token_ids)) if engine else ""


def _tokens(run: Speculated) -> list[dict[str, object]]:
    shown = [_token(run.first_id, "prefill", "prefill's token")]
    for number, round_ in enumerate(run.rounds, 1):
        shown += _round(number, round_)
    return shown


def _round(number: int, round_: Round) -> list[dict[str, object]]:
    head = f"round {number}: {round_.num_accepted} of {len(round_.drafted)} drafts accepted"
    shown = [_token(token_id, "accepted", f"{head}; drafted") for token_id in round_.drafted[: round_.num_accepted]]
    if round_.token_id is not None:
        words = _OWN[round_.last]
        if round_.last == "correction":
            words += f" of {token_text(round_.drafted[round_.num_accepted])}"
        shown.append(_token(round_.token_id, "own", f"{head}; {words}"))
    return shown


def _token(token_id: int, kind: str, hint: str) -> dict[str, object]:
    return {"label": token_text(token_id), "phase": kind, "hint": hint, "index": None}


def _nothing() -> None:
    """A component's state exists only where a callback is given for it."""
