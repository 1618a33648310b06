"""What a plan is looked at under: one view at a time, one main chart each."""

from collections.abc import Callable

import streamlit as st

from inference.planner import Plan
from inference.planner.link import to_query
from inference.planner.settings import PlanSettings
from pages.ui import state
from pages.ui.course.course import course
from pages.ui.course.page import page_of
from pages.ui.experiments.planning.layer_clock import layer_clock
from pages.ui.experiments.planning.more_gpus import more_gpus
from pages.ui.parts.boundary import boundary
from pages.ui.parts.lab import choose_view, view_query
from pages.ui.planner.views.cache import cache_view
from pages.ui.planner.views.error import error_view
from pages.ui.planner.views.hardware import hardware_view
from pages.ui.planner.views.options import options_view
from pages.ui.planner.views.request_time import time_view
from pages.ui.planner.views.throughput import throughput_view

_LESSON = "batching"


def _more_gpus() -> None:
    more_gpus()
    lesson = next((lesson for lesson in course().lessons if lesson.quiz == _LESSON), None)
    if lesson:
        st.page_link(page_of(lesson), label=f"The written question is in lesson {lesson.number}")


_NEED_A_PLAN: dict[str, Callable[[Plan, PlanSettings], None]] = {
    "Time": time_view,
    "Throughput": throughput_view,
    "Hardware": hardware_view,
    "Optimisations": options_view,
    "Cache and weights": cache_view,
}
_FREE: dict[str, Callable[[], None]] = {
    "Why not just more GPUs?": _more_gpus,
    "The clock of the layers": layer_clock,
    "How far off?": error_view,
}


def views(plan: Plan | None, settings: PlanSettings | None) -> None:
    names = [*_NEED_A_PLAN, *_FREE]
    chosen = choose_view(names, key="planner")
    query = to_query(settings) if plan and settings else ""
    parts = ("" if query == to_query(PlanSettings()) else query, view_query(chosen, names))
    state.show_in_address("&".join(filter(None, parts)))
    with boundary():
        if chosen in _FREE:
            _FREE[chosen]()
        elif plan is None or settings is None:
            st.text("This view needs a plan: the message at the top says what is missing.")
        else:
            _NEED_A_PLAN[chosen](plan, settings)
