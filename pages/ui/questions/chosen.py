"""The widgets of questions answered by choosing: one of several, some of several, an order."""

from collections.abc import Callable

import streamlit as st

from pages.ui.questions.verdict import parts, verdict
from quizzes import Answer, Asked


def show_choice(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    text = {option.id: option.text for option in asked.options}
    ids = list(text)
    chosen = st.radio(
        asked.prompt,  # hidden, but it names the group for a screen reader
        ids,
        index=ids.index(answer.given) if answer and answer.given in ids else None,
        format_func=lambda choice_id: text[choice_id],
        key=f"answer-{asked.id}",
        label_visibility="collapsed",
    )
    _check(asked, on_answer, is_complete=chosen is not None)
    if answer and answer.given == chosen:  # another choice, not checked yet, must not wear this feedback
        verdict(answer.grade)


def show_multiple(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    """Checkboxes, keyed by their place: an id in a key would reach the browser."""
    before = answer.given.split(",") if answer else []
    st.caption("Choose all that apply.")
    chosen = [
        option.id
        for place, option in enumerate(asked.options)
        if st.checkbox(option.text, option.id in before, key=f"answer-{asked.id}-{place}")
    ]
    _check(asked, on_answer, is_complete=bool(chosen))
    if answer and sorted(before) == sorted(chosen):
        verdict(answer.grade)
        parts(answer.grade)


def show_order(asked: Asked, answer: Answer | None, on_answer: Callable[[str], None]) -> None:
    text = {option.id: option.text for option in asked.options}
    ids = list(text)
    before = answer.given.split(",") if answer else []
    st.markdown("\n".join(f"- {option.text}" for option in asked.options))  # a narrow list cuts long ones
    chosen = [
        st.selectbox(
            f"Place {place + 1}",
            ids,
            index=ids.index(before[place]) if place < len(before) and before[place] in ids else None,
            format_func=lambda item_id: text[item_id],
            key=f"answer-{asked.id}-{place}",
            placeholder="Choose",
        )
        for place in range(len(ids))
    ]
    _check(asked, on_answer, is_complete=None not in chosen)
    if answer and before == chosen:
        verdict(answer.grade)
        parts(answer.grade, is_numbered=True)


def _check(asked: Asked, on_answer: Callable[[str], None], *, is_complete: bool) -> None:
    st.button("Check", key=f"check-{asked.id}", on_click=on_answer, args=(asked.id,), disabled=not is_complete)
