"""Draws one question and, once it is answered, what the answer gets back."""

from collections.abc import Callable
from typing import assert_never

import streamlit as st

from quizzes import (
    MAX_ANSWER_CHARS,
    Answer,
    ChoiceQuestion,
    PointCheck,
    Question,
    WrittenQuestion,
)

OnAnswer = Callable[[str, str], None]


def show(question: Question, *, answer: Answer | None, on_answer: OnAnswer, seed: str) -> None:
    """Draw a question in a card; seed fixes the order of its choices.

    A click calls on_answer(question.id, key of the widget that holds the answer). The value may be one that
    grade() refuses (a blank text): on_answer then leaves the answer as it was.
    """
    with st.container(border=True, key=f"card-{question.id}"):
        st.markdown(f"**{question.prompt}**")
        match question:
            case ChoiceQuestion():
                _show_choice(question, answer, on_answer, seed)
            case WrittenQuestion():
                _show_written(question, answer, on_answer)
            case _:
                assert_never(question)


def _show_choice(question: ChoiceQuestion, answer: Answer | None, on_answer: OnAnswer, seed: str) -> None:
    text = {option.id: option.text for option in question.asked(seed).options}
    ids = list(text)
    key = f"answer-{question.id}"
    chosen = st.radio(
        question.prompt,  # hidden, but it names the group for a screen reader
        ids,
        index=ids.index(answer.given) if answer else None,
        format_func=lambda choice_id: text[choice_id],
        key=key,
        label_visibility="collapsed",
    )
    st.button(
        "Check",
        key=f"check-{question.id}",
        on_click=on_answer,
        args=(question.id, key),
        disabled=chosen is None,
    )
    if answer and answer.given == chosen:  # another choice, not checked yet, must not wear this feedback
        verdict = "Right." if answer.grade.is_correct else "Not quite."
        st.markdown(f"**{verdict}** {answer.grade.feedback}")


def _show_written(question: WrittenQuestion, answer: Answer | None, on_answer: OnAnswer) -> None:
    key = f"answer-{question.id}"
    written = st.text_area(
        question.prompt,
        answer.given if answer else "",
        max_chars=MAX_ANSWER_CHARS,
        key=key,
        label_visibility="collapsed",
        placeholder="Your answer, in a few sentences",
    )
    # not disabled while blank: the text arrives only when the learner leaves the box, by that very click
    is_clicked = st.button(
        "Compare with the rubric", key=f"check-{question.id}", on_click=on_answer, args=(question.id, key)
    )
    if is_clicked and not written.strip():
        st.caption("Write an answer first: comparing it is where the learning is.")
    if answer:
        _show_rubric(answer, is_edited=written != answer.given)


def _show_rubric(answer: Answer, *, is_edited: bool) -> None:
    if is_edited:
        st.caption("This compares your earlier answer:")
        st.text(answer.given)  # st.text: a learner's Markdown must not run
    st.markdown("**Rubric**")
    st.caption(answer.grade.feedback)
    st.markdown("\n".join(f"- *{_mark(point)}:* {point.text}" for point in answer.grade.points))
    if answer.grade.model_answer:
        st.markdown(f"**Model answer**\n\n{answer.grade.model_answer}")


def _mark(point: PointCheck) -> str:
    match point.is_mentioned:
        case True:
            return "mentioned"
        case False:
            return "not seen in your answer"
        case None:
            return "for you to judge"
