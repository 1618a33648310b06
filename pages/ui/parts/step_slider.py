"""The slider through a run's steps; its browser side is step_slider.js."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_step_slider",
    html='<input type="range" min="1" max="2" value="1" step="1" aria-label="Step">',
    css=(_HERE / "browser/step_slider.css").read_text(),
    js=(_HERE / "browser/step_slider.js").read_text(),
)


def step_slider(*, number: int, maximum: int, is_disabled: bool, key: str, on_pick: Callable[[str], None]) -> None:
    """Shows step `number` of `maximum`; a move calls `on_pick(key)`, and `state.told` says to which index."""
    data = {"number": number, "maximum": max(maximum, 2), "isDisabled": is_disabled}
    _component(data=data, key=key, height=24, on_picked_change=lambda: on_pick(key))
