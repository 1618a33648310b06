"""The course as every page knows it: lessons with their pages, the glossary, and what could not be opened."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from lessons import Lesson, Term, load_glossary, open_lessons
from quizzes import Problem


@dataclass(frozen=True, slots=True)
class Course:
    """All that can be read, and what is wrong with the rest."""

    lessons: tuple[Lesson, ...]
    problems: tuple[Problem, ...]
    glossary: Mapping[str, Term]


@st.cache_resource(show_spinner=False)
def course() -> Course:
    """Read once; the files of a running server do not change."""
    lessons, problems = open_lessons()
    return Course(tuple(lessons), tuple(problems), load_glossary())


def page_of(lesson: Lesson) -> StreamlitPage:
    """Its page: the list of lessons leads there, the sidebar would be too long."""

    def show() -> None:
        from pages.ui.course.lesson import show_lesson  # noqa: PLC0415  # Start here must not wait for the database

        show_lesson(lesson)

    return st.Page(
        show,
        title=f"{lesson.number}. {lesson.title}",
        url_path=f"lesson-{lesson.number:02}",
        visibility="hidden",
    )
