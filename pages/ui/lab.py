"""The frame of a lab: title, what it takes, a prediction, and one view at a time."""

from collections.abc import Callable, Mapping

import streamlit as st

from pages.ui.boundary import boundary
from pages.ui.prediction import Outcome, Prediction, predict


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
    """Draw the lab; only the chosen view is run."""
    st.title(title, anchor=False)
    st.caption(f"{subtitle} About {minutes} minutes.")
    predict(prediction, outcome, how=how)
    names = list(views)
    chosen = st.segmented_control(
        "View",
        names,
        default=names[0],
        required=True,
        key=f"{key}-view",
        label_visibility="collapsed",
        persist_state="session",
    )
    with boundary():
        views[chosen or names[0]]()
