"""What a plan is looked at under: one view at a time, one main chart each."""

from collections.abc import Callable

import streamlit as st

from inference.plan_settings import PlanSettings
from inference.planner import Plan
from pages.ui.planner.time_view import time_view

_NEED_A_PLAN: dict[str, Callable[[Plan, PlanSettings], None]] = {"Time": time_view}
_FREE: dict[str, Callable[[], None]] = {}


def views(made: Plan | None, settings: PlanSettings | None) -> None:
    names = [*_NEED_A_PLAN, *_FREE]
    chosen = st.segmented_control(
        "View",
        names,
        default=names[0],
        required=True,
        key="planner-view",
        label_visibility="collapsed",
        persist_state="session",
    )
    if chosen in _FREE:
        _FREE[chosen]()
    elif made is None or settings is None:
        st.text("This view needs a plan: the message at the top says what is missing.")
    else:
        _NEED_A_PLAN[chosen or names[0]](made, settings)
