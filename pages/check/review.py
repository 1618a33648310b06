"""Review: what was missed comes back, mixed over all lessons, when it is about to be forgotten."""

import streamlit as st

from pages.ui import state
from pages.ui.course import quiz
from pages.ui.course.page import page_of
from pages.ui.questions.answers import ask
from pages.ui.screen import sentence
from quizzes.progress.progress import ProgressError

st.title("Review", anchor=False)
st.caption(
    "A question answered wrong comes back within minutes, one answered right after days, then weeks: "
    "each time just before it would be forgotten."
)
quiz.show_problems()
answering = state.tab().answering
waiting = answering.review[answering.review_place :]

if waiting:
    st.caption(f"Question {answering.review_place + 1} of {len(answering.review)}.")
    question = state.questions()[waiting[0]]
    ask(question, is_anew=True)
    is_last = len(waiting) == 1
    st.button(
        "Finish" if is_last else "Next question",
        key="review-next",
        on_click=quiz.next_in_review,
        disabled=question.id not in answering.answers,
    )
    st.stop()

try:
    due, predictions = quiz.due(), quiz.predictions()
except ProgressError as error:
    st.text(sentence(error))
    st.button("Try again", key="review-again")
    st.stop()
missed = quiz.missed()
if answering.review:
    st.text(f"Done: {len(answering.review)} reviewed.")
st.text(f"{len(due)} due now." if due else "Nothing is due now.")
with st.container(horizontal=True, gap="small"):
    if due:
        st.button("Review what is due", key="review-due", type="primary", on_click=quiz.begin_review, args=(due,))
    if missed:
        words = f"Ask again what was missed ({len(missed)})"
        st.button(words, key="review-missed", on_click=quiz.begin_review, args=(missed,))
if predictions:
    st.caption("A prediction is made again in its lesson, where its run is:")
    for lesson in predictions:
        st.page_link(page_of(lesson), label=f"{lesson.number}. {lesson.title}")
if not due and not missed and not predictions:
    st.text("Answer some questions in the lessons or the quiz first; what you miss comes back here.")
