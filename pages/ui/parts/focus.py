"""Keeps a keyboard's focus where it is while a page is drawn anew: its browser side is focus.js."""

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "two_phases_focus",
    html='<div class="focus" hidden></div>',
    js=(Path(__file__).parent / "browser/focus.js").read_text(),
)


def keep_focus() -> None:
    """Once a page, before anything that can be pressed."""
    _component(key="focus")
