"""Class: a learner joins by the teacher's link; the teacher, by a secret, makes links and sees the results."""

import streamlit as st

from pages.ui import state
from pages.ui.classes.join import join_class
from pages.ui.classes.secret import MIN_SECRET_CHARS, VARIABLE, is_teacher, secret, sign_in, sign_out
from pages.ui.classes.teacher import new_class, show_class
from pages.ui.learner import saved
from pages.ui.screen import sentence
from quizzes.progress.progress import ProgressError

st.title("Class", anchor=False)
if not secret():
    st.text(
        f"Classes are off on this server. To switch them on, set {VARIABLE} to a secret of at least "
        f"{MIN_SECRET_CHARS} characters in its environment and start it again."
    )
    st.stop()
if not is_teacher():
    if code := state.tab().classroom.code:
        join_class(code)
        with st.expander("For the teacher"):
            sign_in()
    else:
        st.text("Open the link that your teacher gave you to join a class. Teachers sign in here.")
        sign_in()
    st.stop()

st.caption("Make a link, give it to your learners, and see here what they answered: counts, without names.")
new_class()
try:
    classes = saved.progress().classes()
    if classes:
        show_class(classes)
    else:
        st.text("No class has been made on this server yet.")
except ProgressError as error:
    st.text(sentence(error))
    st.button("Try again", key="class-again")
st.button("Sign out", key="class-sign-out", on_click=sign_out)
