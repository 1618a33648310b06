"""The course as every page knows it: its lessons, the glossary, and what could not be opened."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

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
