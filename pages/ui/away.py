"""What every page says while the engine's process, once there, is away."""

import streamlit as st

from pages.ui import state


def say_if_away() -> None:
    with st.container(key="away"):  # always there, so that nothing below it changes its place
        if state.laboratory().is_away:
            _away()


@st.fragment(run_every=1.0)
def _away() -> None:
    lab = state.laboratory()
    if not lab.is_away:
        st.rerun()  # the whole page once, which ends the timer
    st.warning(f"{lab.status.sentence} ({lab.status.elapsed_s:.0f} s). What you did is kept.")
