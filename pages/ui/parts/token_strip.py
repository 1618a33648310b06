"""The token strip: the prompt in the prefill colour, the output in the decode colour, the newest outlined."""

import math
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from inference.arithmetic.units import percent
from inference.trace import Step, Token, Trace
from pages.charts.tokens import hex_bytes, visible
from pages.ui import state

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_token_strip",
    html='<div class="strip" role="group" aria-label="Tokens of the prompt and of the answer" tabindex="0"></div>',
    css=(_HERE / "browser/token_strip.css").read_text(),
    js=(_HERE / "browser/token_strip.js").read_text(),
)
_FOLD = 240  # prompt tokens shown; of a longer prompt, its beginning and its end


def token_strip(trace: Trace | None, *, shown: int, key: str, on_pick: Callable[[str], None]) -> None:
    """Draw all the run's tokens; those after step `shown` are faint. A click selects that token's step."""
    steps = trace.steps if trace else []
    version = (steps[-1], trace.metadata.date) if trace else None
    tokens = state.remembered(key, version, lambda: _tokens(trace) if trace else [])
    hint = "The tokens appear here. Press Prefill."
    _component(
        data={"tokens": tokens, "shown": shown, "hint": hint}, key=key, on_picked_change=lambda: on_pick(key)
    )


def _tokens(trace: Trace) -> list[dict[str, object]]:
    return [*_prompt(trace.prompt_tokens), *map(_output, trace.steps)]


def _prompt(tokens: tuple[Token, ...]) -> list[dict[str, object]]:
    if len(tokens) <= _FOLD:
        return [_prompt_token(token) for token in tokens]
    half = _FOLD // 2
    num_folded = len(tokens) - 2 * half
    gap: dict[str, object] = {
        "label": f" … {num_folded:,} more tokens … ",
        "phase": "gap",
        "hint": "folded",
        "index": None,
    }
    return [*map(_prompt_token, tokens[:half]), gap, *map(_prompt_token, tokens[-half:])]


def _prompt_token(token: Token) -> dict[str, object]:
    hint = f"prompt, id {token.id}, bytes {hex_bytes(token.raw)}"
    return {"label": visible(token.raw), "phase": "prefill", "hint": hint, "index": None}


def _output(step: Step) -> dict[str, object]:
    chance = percent(math.exp(step.logprob))
    forced = ", chosen by you" if step.is_forced else ""
    hint = f"step {step.number}, id {step.token_id}, bytes {hex_bytes(step.raw)}, probability {chance}{forced}"
    return {"label": visible(step.raw), "phase": "decode", "hint": hint, "index": step.index}
