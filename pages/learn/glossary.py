"""Every term of the course, defined once."""

import streamlit as st

from lessons import written
from pages.ui.course.course import course
from pages.ui.course.page import page_of
from pages.ui.parts.terms import define

known = course()
defined_in = {term: lesson for lesson in reversed(known.lessons) for term in lesson.terms}
st.title("Glossary", anchor=False)
st.caption(f"{len(known.glossary)} terms. One word per idea, in every lesson, chart and question.")
for term in sorted(known.glossary.values(), key=lambda term: term.term.casefold()):
    st.subheader(term.term, anchor=term.id)
    with st.container(key=f"term-{term.id}"):
        st.markdown(written(term.text, known.glossary))
        if term.avoid:
            st.caption(f"Not: {', '.join(term.avoid)}.")
        if lesson := defined_in.get(term.id):
            st.page_link(page_of(lesson), label=f"Lesson {lesson.number}: {lesson.title}")
define(known.glossary.values())
