"""The key under which a learner's answers are kept."""

import streamlit as st

from pages.ui import state
from pages.ui.serving import cookies


def key() -> str:
    """This tab's learner, as long as it lives: a bookmark opened in another tab changes nothing here."""
    here = state.tab()
    if not here.key:
        here.key = cookies.bookmarked_in(st.context.cookies) or own_key()
    return here.key


def own_key() -> str:
    """The browser's own, which a bookmark may stand in for."""
    return cookies.own_key(state.learner())
