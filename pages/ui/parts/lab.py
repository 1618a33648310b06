"""The frame of a lab: title, what it takes, a prediction, and one view at a time."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from pages.ui import state
from pages.ui.parts.boundary import boundary
from pages.ui.parts.prediction import Outcome, Prediction, predict, veiled
from pages.ui.serving.addresses import slug


def lab(
    title: str,
    subtitle: str,
    *,
    minutes: int,
    prediction: Prediction,
    outcome: Outcome | None,
    views: Mapping[str, Callable[[], None]],
    key: str,
    how: str = "Measure to see.",
) -> None:
    """Draw the lab; only the chosen view is run. The prediction is about the first one, and asked there alone."""
    st.title(title, anchor=False)
    st.caption(f"{subtitle} About {minutes} minutes.")
    chosen = choose_view(list(views), key=key)
    state.show_in_address(view_query(chosen, views))
    if chosen == next(iter(views)):
        predict(prediction, outcome, how=how)
        if veiled(prediction, outcome):
            return
    with boundary():
        views[chosen]()


def choose_view(names: Sequence[str], *, key: str) -> str:
    """One view at a time; the one that a link asks for, when its page is opened."""
    asked = state.asked_view()
    if linked := next((name for name in names if slug(name) == asked), None):
        state.set_widget(f"{key}-view", linked)
    state.widget_default(f"{key}-view", names[0])
    chosen = st.segmented_control(
        "View",
        names,
        required=True,
        key=f"{key}-view",
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen or names[0]


def view_query(chosen: str, names: Iterable[str]) -> str:
    """The view as an address's parameter; nothing for the first one."""
    return "" if chosen == next(iter(names)) else f"view={slug(chosen)}"
