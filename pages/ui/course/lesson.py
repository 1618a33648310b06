"""Draws one lesson: its text first, then the questions and experiments in the places kept for them."""

import streamlit as st

from lessons import (
    Ask,
    Lesson,
    Part,
    Place,
    Section,
    Takeaway,
    Text,
    written,
)
from lessons.reading.written import marks_in, terms_in
from pages.ui import state
from pages.ui.course import progress as lesson_progress
from pages.ui.course.course import Course, course
from pages.ui.course.page import page_of
from pages.ui.parts.boundary import boundary
from pages.ui.parts.terms import define
from pages.ui.questions.answers import ask

Slots = list[tuple[Part, "st.delta_generator.DeltaGenerator"]]


def show_lesson(lesson: Lesson) -> None:
    """All text at once, then what has to be computed: nobody waits for a chart to read."""
    known = course()
    st.title(f"{lesson.number}. {lesson.title}", anchor=False)
    st.caption(f"{lesson.summary} About {lesson.minutes} minutes.")
    resuming = st.container(key="lesson-resume")
    slots: Slots = []
    with st.container(key="lesson"):
        _parts(lesson.opening, known, slots)
        for section in lesson.sections:
            st.header(section.title, anchor=lesson_progress.anchor(section))
            _parts(section.parts, known, slots)
        _end(lesson, known)
    for part, slot in slots:
        if isinstance(part, Ask):
            with slot:
                _question(part)
    with resuming:
        _resume(lesson)
    seen: list[str] = []
    for part, slot in slots:
        if isinstance(part, Place):
            seen.append(part.name)
            with slot:
                _experiment(part, seen.count(part.name))
    define(known.glossary.values(), is_lesson=True)
    lesson_progress.keep_place(lesson)


def _parts(parts: tuple[Part, ...], known: Course, slots: Slots) -> None:
    for part in parts:
        match part:
            case Text():
                st.markdown(written(part.markdown, known.glossary))
            case Takeaway():
                st.markdown("> **Takeaway.** " + written(" ".join(part.markdown.split()), known.glossary))
            case Ask() | Place():
                slots.append((part, st.container()))


def _question(part: Ask) -> None:
    question = state.questions().get(part.question)
    if question is None:  # its file is broken; the lesson goes on without it
        st.caption(f"The question {part.question} cannot be asked: see the problems listed under Lessons.")
        return
    ask(question)


@st.fragment
def _experiment(part: Place, number: int) -> None:
    """In a fragment: a measurement that grows redraws itself and not the lesson around it."""
    from pages.ui.course.placed import draw  # noqa: PLC0415  # seconds, the first time; the text is there

    with boundary("experiment"):
        draw(part.name, part.settings, number=number)


def _resume(lesson: Lesson) -> None:
    """Where the learner stopped, if that was past the beginning."""
    section = lesson_progress.next_section(lesson)
    if section is not None and section != lesson.sections[0]:
        st.markdown(f"You stopped here: [{section.title}](#{lesson_progress.anchor(section)})")


def _first_use(lesson: Lesson, term: str) -> Section | None:
    """The section whose text first marks the term."""
    return next(
        (
            section
            for section in lesson.sections
            for part in section.parts
            if isinstance(part, Text | Takeaway) and term in [name for _, name in marks_in(part.markdown)]
        ),
        None,
    )


def _end(lesson: Lesson, known: Course) -> None:
    st.header("You can now", anchor="you-can-now")
    st.markdown("\n".join(f"- {written(skill, known.glossary)}" for skill in lesson.can))
    following = next((later for later in known.lessons if later.number > lesson.number), None)
    with st.container(horizontal=True, gap="small", key="lesson-next"):
        if following:
            st.page_link(page_of(following), label=f"Next: {following.number}. {following.title}")
        st.page_link("../learn/lessons.py", label="All lessons")
    if terms := terms_in(lesson):
        st.header("Terms", anchor="terms")
        for term in (known.glossary[name] for name in terms if name in known.glossary):
            st.subheader(term.term, anchor=term.id)
            st.markdown(written(term.text, known.glossary))
            if section := _first_use(lesson, term.id):
                st.markdown(f"Back to [{section.title}](#{lesson_progress.anchor(section)})")
    with st.expander("Sources", key="lesson-sources"):
        st.markdown("\n".join(f"- {source}" for source in lesson.sources))
