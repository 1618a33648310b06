"""The clock of everything that plays by itself, and the pace of presses: its browser side is clock.js."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages.ui import state

_component = st.components.v2.component(
    "two_phases_clock",
    html='<div class="clock" hidden></div>',
    js=(Path(__file__).parent / "browser/clock.js").read_text(),
)


def clock(*, is_running: bool, expected: int, delay_s: float, key: str, on_tick: Callable[[str], None]) -> None:
    """Call `on_tick(key)` once, `delay_s` after this drawing reached the browser, with `expected` given back."""
    data = {
        "isRunning": is_running,
        "expected": expected,
        "delayMs": round(delay_s * 1e3),
        "stamp": state.draw_stamp() if is_running else 0,  # new data is what starts the next tick
    }
    _component(data=data, key=key, on_ticked_change=lambda: on_tick(key))
