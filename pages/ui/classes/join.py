"""What a learner sees behind a teacher's link: the assignment, and the way into the class."""

import json
from functools import partial

import streamlit as st

from pages.ui import state
from pages.ui.classes.assignment import Assignment, from_settings
from pages.ui.course.course import course
from pages.ui.course.page import page_of
from pages.ui.learner import saved
from pages.ui.screen import sentence
from quizzes.progress.progress import MAX_NICKNAME_CHARS, ProgressError

_PROBLEM = "class-join"


def join_class(code: str) -> None:
    """The assignment of this code, or why there is none."""
    try:
        settings = saved.progress().class_settings(code)
        nickname = state.remembered("class joined", (code, saved.key()), partial(_nickname, code))
    except ProgressError as error:
        st.text(sentence(error))
        st.button("Try again", key="class-again")
        return
    if settings is None:
        st.text("There is no class with this code; ask your teacher for the link again.")
        return
    st.query_params["class"] = code  # a reload, or a bookmark, finds it again
    assignment = from_settings(settings)
    if assignment.name:
        st.text(f"Class: {assignment.name}")
    _seat(code, nickname)
    st.subheader("Your assignment", anchor=False)
    for lesson in course().lessons:
        if lesson.id in assignment.lessons:
            st.page_link(page_of(lesson), label=f"{lesson.number}. {lesson.title}")
            st.caption(f"{lesson.summary} {lesson.minutes} minutes.")
    _run(assignment)


def _seat(code: str, nickname: str | None) -> None:
    if nickname is None:
        st.text(
            "Join, and your newest answers are counted with everybody's: your teacher sees no name and no key, and "
            "a nickname only in a list apart from the answers."
        )
    else:
        st.text(f"You have joined as {nickname}." if nickname else "You have joined, without a nickname.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input("Nickname (optional)", key="class-nickname", max_chars=MAX_NICKNAME_CHARS, width=260)
        label = "Join the class" if nickname is None else "Change the nickname"
        st.button(label, key="class-join", type="primary", on_click=_join, args=(code,))
    if problem := state.tab().problems.get(_PROBLEM):
        st.text(problem)


def _join(code: str) -> None:
    here = state.tab()
    here.problems.pop(_PROBLEM, None)
    try:
        saved.progress().join(code, saved.key(), str(state.widget_value("class-nickname") or "").strip())
    except ProgressError as error:
        here.problems[_PROBLEM] = f"You have not joined: {sentence(error)}"
        return
    here.drawing.remembered.pop("class joined", None)


def _nickname(code: str) -> str | None:
    """Under which this learner has joined, perhaps on an earlier visit; None: not yet."""
    seats = json.loads(saved.progress().export(saved.key()))["classes"]
    return next((str(seat["nickname"]) for seat in seats if seat["code"] == code), None)


def _run(assignment: Assignment) -> None:
    """The prompt and settings that the teacher chose, on the main screen."""
    engine = state.laboratory().engine
    if assignment.model and engine and assignment.model != engine.name:
        st.text(f"This assignment was made for {assignment.model}; here {engine.name} answers.")
    elif assignment.model:
        st.text(f"Model: {assignment.model}.")
    recipe = assignment.recipe
    if recipe is None:
        return
    st.subheader("A run to step through", anchor=False)
    st.text(recipe.prompt if len(recipe.prompt) <= 300 else f"{recipe.prompt[:300]} …")
    st.caption(f"Sampling: {recipe.params.spelled() or 'greedy'}; at most {recipe.max_new_tokens:,} tokens.")
    if st.button("Open in Step through", key="class-run"):
        state.open_recipe(recipe)
        st.switch_page("../lab/step_through.py")
