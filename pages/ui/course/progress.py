"""How far a learner is: which questions of a lesson are answered, and where to go on."""

import logging
from functools import partial

import streamlit as st

from lessons import Ask, Lesson, Section
from pages.ui import state
from pages.ui.learner import saved
from pages.ui.serving.addresses import slug
from quizzes.progress.progress import ProgressError

log = logging.getLogger(__name__)


def anchor(section: Section) -> str:
    """Its address within the page."""
    return slug(section.title)


def answered() -> set[str]:
    """Ids of the questions this learner has answered, now or on an earlier visit."""
    return {*state.tab().answering.answers, *saved.earlier().answers}


def num_answered(lesson: Lesson) -> int:
    return len(answered() & set(lesson.questions))


def next_section(lesson: Lesson) -> Section | None:
    """The first section with an open question; None before the first answer and after the last one."""
    known = answered()
    if not known & set(lesson.questions):
        return None
    for section in lesson.sections:
        if any(isinstance(part, Ask) and part.question not in known for part in section.parts):
            return section
    return None


def keep_place(lesson: Lesson) -> None:
    """Remember that the learner is in this lesson, and in which section."""
    section = next_section(lesson) or lesson.sections[0]
    state.remembered("place", (lesson.id, section.title), partial(_keep, lesson.id, anchor(section)))


def _keep(lesson_id: str, section: str) -> None:
    try:
        saved.progress().place(saved.key(), lesson_id, section)
    except ProgressError as error:  # a place is a convenience: answers say so themselves when they are not kept
        log.warning("The place in lesson %s was not kept: %s", lesson_id, error)


def place() -> str | None:
    """Id of the lesson the learner was last in; None if there is none, or it cannot be read."""
    try:
        lesson_and_section = saved.progress().resume(saved.key())
    except ProgressError as error:
        log.warning("The place was not read: %s", error)
        return None
    return lesson_and_section[0] if lesson_and_section else None


def course_words(lessons: tuple[Lesson, ...]) -> str:
    """12 of 80 questions answered."""
    total = sum(len(lesson.questions) for lesson in lessons)
    done = sum(num_answered(lesson) for lesson in lessons)
    return f"{done:,} of {total:,} questions answered"


def show_problem() -> None:
    """Why earlier answers are not shown, with a way to try again."""
    if problem := saved.earlier().problem:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(f"Your earlier answers cannot be read: {problem}")
            st.button("Try again", key="read-progress-again", on_click=saved.read_again)
