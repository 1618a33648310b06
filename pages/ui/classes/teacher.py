"""The teacher's side of a class: the link that is made, the class that is shown, and its end."""

from collections.abc import Mapping

import streamlit as st

from pages.ui import state
from pages.ui.classes.assignment import Assignment, from_settings, read_link
from pages.ui.classes.live import live_answers
from pages.ui.classes.results import question_results, to_csv
from pages.ui.course.course import course
from pages.ui.learner import saved
from pages.ui.screen import sentence
from quizzes.progress.progress import Class, ProgressError

MAX_NAME_CHARS = 60
_NEW, _DELETE = "class-new", "class-delete"


def new_class() -> None:
    """What an assignment is made of."""
    names = {lesson.id: f"{lesson.number}. {lesson.title}" for lesson in course().lessons}
    with st.expander("Make an assignment", key="card-class-new"):
        st.text_input("Name of the class, as your learners see it", key="class-name", max_chars=MAX_NAME_CHARS)
        st.multiselect("Lessons", list(names), format_func=lambda lesson_id: names[lesson_id], key="class-lessons")
        st.text_input("Prompt and sampling settings (optional): a link from Step through, Export", key="class-link")
        st.text_input("Model (optional): learners are told where another one answers", key="class-model")
        st.button("Make the link", key="class-make", type="primary", on_click=_make, args=(tuple(names),))
        if problem := state.tab().problems.get(_NEW):
            st.text(problem)


def _make(known: tuple[str, ...]) -> None:
    here, chosen = state.tab(), state.widget_value("class-lessons")
    here.problems.pop(_NEW, None)
    address = str(state.widget_value("class-link") or "").strip()
    model = str(state.widget_value("class-model") or "").strip()[:200]
    lessons = tuple(lesson_id for lesson_id in known if isinstance(chosen, list) and lesson_id in chosen)
    try:
        if not lessons:
            raise ValueError("no lesson is chosen; choose at least one")
        recipe = read_link(address) if address else None
        query = recipe.to_query() if recipe else ""
        name = str(state.widget_value("class-name") or "").strip()[:MAX_NAME_CHARS]
        assignment = Assignment(lessons, query, model or (recipe.model if recipe else ""), name)
        state.set_widget("class-shown", saved.progress().new_class(assignment.to_settings()))
    except (ValueError, ProgressError) as error:
        here.problems[_NEW] = sentence(error)


def show_class(classes: list[Class]) -> None:
    """One class: its link, and what its members answered as it comes in."""
    by_code = {school_class.code: school_class for school_class in classes}
    code = st.selectbox(
        "Class", list(by_code), format_func=lambda code: _label(by_code[code]), key="class-shown", width=480
    )
    if code is None:
        return
    assignment = from_settings(by_code[code].settings)
    st.caption("The link for your learners")
    st.code(f"{state.page_address()}?class={code}", language=None, wrap_lines=True)
    lessons = {
        f"{lesson.number}. {lesson.title}": lesson for lesson in course().lessons if lesson.id in assignment.lessons
    }
    chosen = st.selectbox("Lesson", list(lessons), key="class-lesson", width=480)
    live_answers(code, chosen, lessons[chosen] if chosen else None)
    _end(code, {name: lesson.quiz for name, lesson in lessons.items()})


def _label(school_class: Class) -> str:
    assignment, created_at = from_settings(school_class.settings), school_class.created_at
    num_lessons = len(assignment.lessons)
    words = f"{num_lessons} lesson{'s' * (num_lessons != 1)}"
    return f"{assignment.name or 'Class'} ({school_class.code}), made {created_at:%Y-%m-%d %H:%M} UTC: {words}"


def _end(code: str, quiz_of: Mapping[str, str]) -> None:
    """All of it as a file, and the end of the class."""

    def written() -> str:  # for a click: as things stand then
        answers, quizzes = saved.progress().results(code), state.quizzes()[0]
        return to_csv({name: question_results(answers, quizzes.get(quiz, [])) for name, quiz in quiz_of.items()})

    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.download_button(
            "Export as CSV", written, f"class-{code}.csv", "text/csv", key="class-csv", on_click="ignore"
        )
        is_sure = st.checkbox("This class is over", key="class-delete-sure")
        st.button("Delete the class", key=_DELETE, on_click=_delete, args=(code,), disabled=not is_sure)
    if problem := state.tab().problems.get(_DELETE):
        st.text(problem)


def _delete(code: str) -> None:
    problems = state.tab().problems
    try:
        saved.progress().delete_class(code)
        problems.pop(_DELETE, None)
    except ProgressError as error:
        problems[_DELETE] = f"The class was not deleted: {sentence(error)}"
    state.set_widget("class-delete-sure", False)
