"""Quiz: the questions of one lesson, one after another, with the score."""

import streamlit as st

from pages.ui import state
from pages.ui.course.quiz import one_by_one, quiz_names, show_problems

st.title("Quiz", anchor=False)
st.caption("Every answer is explained, right or wrong. Answer as often as you like: the newest one counts.")
show_problems()
names = quiz_names()
chosen = st.selectbox("Lesson", list(names), format_func=lambda quiz: names[quiz], key="quiz-lesson")
if chosen is None:
    st.text("There are no questions yet.")
    st.stop()
one_by_one(state.quizzes()[0][chosen], key=f"quiz-{chosen}")
