"""Draws one question and, once it is answered, what the answer gets back."""

from collections.abc import Callable
from typing import assert_never

import streamlit as st

from pages.ui.parts.framed import framed
from pages.ui.questions.chosen import show_choice, show_multiple, show_order
from pages.ui.questions.worded import show_number, show_term, show_written
from quizzes import (
    Answer,
    ChoiceQuestion,
    MultipleQuestion,
    NumberQuestion,
    OrderQuestion,
    PredictQuestion,
    Question,
    TermQuestion,
    WrittenQuestion,
)

OnAnswer = Callable[[str], None]
Asking = ChoiceQuestion | MultipleQuestion | NumberQuestion | OrderQuestion | TermQuestion | WrittenQuestion
"""The kinds that are answered at once; a prediction waits for a run (question_predict.py)."""


def show(question: Asking, *, answer: Answer | None, on_answer: OnAnswer, seed: str, problem: str = "") -> None:
    """Draw a question in a card; seed fixes the order of its choices.

    A click calls on_answer(question.id); `given` then reads the widgets. What they hold may be refused by grade():
    on_answer leaves the answer as it was, and gives the reason as `problem` at the next drawing.
    """
    asked = question.asked(seed)
    with framed(question.id):
        st.markdown(f"**{asked.prompt}**")
        match question:
            case ChoiceQuestion():
                show_choice(asked, answer, on_answer)
            case MultipleQuestion():
                show_multiple(asked, answer, on_answer)
            case OrderQuestion():
                show_order(asked, answer, on_answer)
            case NumberQuestion():
                show_number(asked, answer, on_answer)
            case TermQuestion():
                show_term(asked, answer, on_answer)
            case WrittenQuestion():
                show_written(asked, answer, on_answer)
            case _:
                assert_never(question)
        if problem:
            st.text(problem)  # may quote the learner: a learner's Markdown must not run


def given(question: Question, seed: str, read: Callable[[str], object]) -> str:
    """What the widgets of a question hold now; `read` gives the value of a widget's key."""
    key = f"answer-{question.id}"
    options = question.asked(seed).options
    match question:
        case MultipleQuestion():
            return ",".join(option.id for place, option in enumerate(options) if read(f"{key}-{place}"))
        case OrderQuestion():
            places = [read(f"{key}-{place}") for place in range(len(options))]
            return ",".join(str(item) for item in places if item is not None)
        case ChoiceQuestion() | NumberQuestion() | TermQuestion() | WrittenQuestion() | PredictQuestion():
            value = read(key)
            return "" if value is None else str(value)
        case _:
            assert_never(question)
