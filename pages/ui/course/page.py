"""A lesson's page. It shows the lesson, which leads on to the next one's page: the one circle meant to be."""

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from lessons import Lesson


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
