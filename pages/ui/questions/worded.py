"""The widgets of questions answered by typing: a number, a term, a few sentences."""

from collections.abc import Callable

import streamlit as st

from pages.ui.questions.verdict import rubric, verdict
from quizzes import MAX_ANSWER_CHARS, MAX_TERM_CHARS, Answer, Asked


def show_number(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    _show_line(asked, answer, on_answer, labelled("Your answer", asked.unit))


def labelled(what: str, unit: str) -> str:
    """What the line takes, in words."""
    if unit == "x":
        return f"{what}, a factor: 2 means twice"
    return f"{what} in {unit}" if unit else f"{what}, a number"


def show_term(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    _show_line(asked, answer, on_answer, "The term")


def _show_line(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None], label: str) -> None:
    typed = line(asked, label, "Check", before=answer.given if answer else "", on_click=on_answer)
    if answer and answer.given == typed:
        verdict(answer.grade)


def line(asked: Asked, label: str, button: str, *, before: str, on_click: Callable[[str], None]) -> str:
    """One line to type. In a form: Enter sends it, and the text arrives with the click."""
    with st.form(f"form-{asked.id}", border=False):
        typed = st.text_input(label, before, max_chars=MAX_TERM_CHARS, key=f"answer-{asked.id}", autocomplete="off")
        st.form_submit_button(button, key=f"check-{asked.id}", on_click=on_click, args=(asked.id,))
    return typed


def show_written(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    written = st.text_area(
        asked.prompt,
        answer.given if answer else "",
        max_chars=MAX_ANSWER_CHARS,
        key=f"answer-{asked.id}",
        label_visibility="collapsed",
        placeholder="Your answer, in a few sentences",
    )
    # not disabled while blank: the text arrives only when the learner leaves the box, by that very click
    st.button("Compare with the rubric", key=f"check-{asked.id}", on_click=on_answer, args=(asked.id,))
    if answer:
        rubric(answer, is_edited=written != answer.given)
