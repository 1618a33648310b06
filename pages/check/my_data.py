"""My data: the bookmark that brings a learner back, all that is kept of them, and its end."""

from functools import partial

import streamlit as st

from pages.ui import state
from pages.ui.learner import key as learner_key
from pages.ui.learner import saved


def bookmark(key: str) -> None:
    root = state.page_address().rpartition("/")[0]
    st.code(f"{root}/lessons?key={key}", language=None, wrap_lines=True)


st.title("My data", anchor=False)
st.caption(
    "Kept under a random key and nothing else: your answers, predictions, reviews, your place in the course, and "
    "the classes you joined with the nickname you gave there."
)

st.subheader("Your bookmark", anchor=False)
st.text("It brings you back, on any machine. Whoever has it sees your answers: keep it like a password.")
if st.toggle("Show my bookmark", key="bookmark-shown"):
    bookmark(saved.key())
    if saved.key() != learner_key.own_key():
        st.text("You continue from a bookmark; this one leads back to the answers given in this browser before.")
        bookmark(learner_key.own_key())

st.subheader("Take it with you", anchor=False)
st.download_button(
    "Export my data",
    partial(saved.exported, saved.key()),
    "two-phases.json",
    "application/json",
    key="export-data",
    on_click="ignore",
)

st.subheader("Delete it", anchor=False)
st.text(
    "Your answers, reviews, place and seats in classes go, and with them your run in Step through: at once and for "
    "good. The key stays yours to begin anew."
)
with st.container(horizontal=True, gap="small", vertical_alignment="center"):
    is_sure = st.checkbox("I want all of it gone", key="delete-sure")
    st.button("Delete my data", key="delete-data", on_click=saved.delete, disabled=not is_sure)
if problem := state.tab().problems.get("delete"):
    st.text(problem)
