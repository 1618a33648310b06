"""Mastery: how each idea of the course stands, and when it comes back."""

from collections import Counter
from datetime import UTC, datetime

import streamlit as st

from pages.ui import state
from pages.ui.course.quiz import idea_name, quiz_names, show_problems
from pages.ui.learner import saved
from pages.ui.parts.framed import framed
from pages.ui.screen import sentence
from quizzes.progress.progress import Mastery, ProgressError

st.title("Mastery", anchor=False)
st.caption(
    "Every idea of the course, by lesson: its questions whose newest answer is right, and when it comes back."
)
show_problems()
try:
    known = saved.mastery()
except ProgressError as error:
    st.text(sentence(error))
    st.button("Try again", key="mastery-again")
    st.stop()


def words(mastery: Mastery | None, num_questions: int) -> str:
    """2 of 3 right; next review in 4 days."""
    if mastery is None:
        return f"{num_questions} not answered yet"
    days = (mastery.due - datetime.now(UTC)).days
    when = (
        "now" if mastery.due <= datetime.now(UTC) else "today" if days < 1 else f"in {days} day{'s' * (days != 1)}"
    )
    return f"{mastery.right} of {num_questions} right; next review {when}"


num_of = Counter(question.idea for question in state.questions().values())
seen: set[str] = set()
for quiz, name in quiz_names().items():
    own = [question.idea for question in state.quizzes()[0][quiz]]
    ideas = {idea: num_of[idea] for idea in own if idea not in seen}
    seen |= set(ideas)
    if not ideas:
        continue
    with framed(f"mastery-{quiz}"):
        st.markdown(f"**{name}**")
        for idea, num_questions in ideas.items():
            standing = known.get(idea)
            share = min(standing.right / num_questions, 1.0) if standing else 0.0
            st.progress(share, f"{idea_name(idea)}: {words(standing, num_questions)}")
