"""The teacher's side of a class: the link that is made, and the results."""

import streamlit as st

from pages.ui import saved, state
from pages.ui.class_assignment import Assignment, from_settings, read_link
from pages.ui.class_results import (
    Given,
    QuestionResult,
    answer_key,
    idea_results,
    question_results,
    to_csv,
)
from pages.ui.course import course
from pages.ui.quiz import idea_name
from pages.ui.screen import sentence
from quizzes.progress import Class, ClassAnswer, ProgressError

_NEW, _DELETE = "class-new", "class-delete"


def new_class() -> None:
    """What an assignment is made of."""
    names = {lesson.id: f"{lesson.number}. {lesson.title}" for lesson in course().lessons}
    with st.expander("Make an assignment", key="card-class-new"):
        st.multiselect("Lessons", list(names), format_func=lambda one: names[one], key="class-lessons")
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
    lessons = tuple(one for one in known if isinstance(chosen, list) and one in chosen)
    try:
        if not lessons:
            raise ValueError("no lesson is chosen; choose at least one")
        recipe = read_link(address) if address else None
        query = recipe.to_query() if recipe else ""
        assignment = Assignment(lessons, query, model or (recipe.model if recipe else ""))
        state.set_widget("class-shown", saved.progress().new_class(assignment.to_settings()))
    except (ValueError, ProgressError) as error:
        here.problems[_NEW] = sentence(error)


def show_class(classes: list[Class]) -> None:
    """One class: its link, and what its members answered. ProgressError if that cannot be read."""
    by_code = {one.code: one for one in classes}
    code = st.selectbox(
        "Class", list(by_code), format_func=lambda code: _label(by_code[code]), key="class-shown", width=420
    )
    if code is None:
        return
    assignment, answers = from_settings(by_code[code].settings), saved.progress().results(code)
    st.caption("The link for your learners")
    st.code(f"{state.page_address()}?class={code}", language=None, wrap_lines=True)
    _people(by_code[code], answers)
    quizzes = state.quizzes()[0]
    results = {
        f"{lesson.number}. {lesson.title}": question_results(answers, quizzes.get(lesson.quiz, []))
        for lesson in course().lessons
        if lesson.id in assignment.lessons
    }
    if results:
        _results(results)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.download_button(
            "Export as CSV", to_csv(results), f"class-{code}.csv", "text/csv", key="class-csv", on_click="ignore"
        )
        is_sure = st.checkbox("This class is over", key="class-delete-sure")
        st.button("Delete the class", key=_DELETE, on_click=_delete, args=(code,), disabled=not is_sure)
    if problem := state.tab().problems.get(_DELETE):
        st.text(problem)


def _label(one: Class) -> str:
    lessons = len(from_settings(one.settings).lessons)
    made = f"{one.created_at:%Y-%m-%d %H:%M} UTC"
    return f"{one.code}, made {made}: {lessons} lesson{'s' * (lessons != 1)}, {one.num_members} joined"


def _people(one: Class, answers: list[ClassAnswer]) -> None:
    names = {row.member: row.nickname for row in answers}
    st.text(f"{one.num_members} joined, {len(names)} of them answered something.")
    if nicknames := sorted(filter(None, names.values()), key=str.casefold):
        st.text("Nicknames: " + ", ".join(nicknames))


def _results(results: dict[str, list[QuestionResult]]) -> None:
    st.subheader("Results", anchor=False)
    st.caption("The newest answer of each learner. The right answers come from what grades them.")
    lesson = st.selectbox("Lesson", list(results), key="class-lesson", width=420)
    if lesson is None:
        return
    with st.container(border=True, key="card-class-ideas"):
        st.markdown("**By idea**")
        for idea, found in idea_results(results[lesson]).items():
            graded = found.num_right + found.num_wrong
            words = f"{found.num_right} of {graded} answers right" if graded else "not answered yet"
            st.progress(found.num_right / graded if graded else 0.0, f"{idea_name(idea)}: {words}")
    for result in results[lesson]:
        with st.container(border=True, key=f"card-class-{result.question.id}"):
            _question(result)


def _question(result: QuestionResult) -> None:
    st.markdown(f"**{result.question.spoken_prompt}**")
    open_ = result.num_answered - result.num_right - result.num_wrong
    counts = f"{result.num_answered} answered: {result.num_right} right, {result.num_wrong} wrong"
    st.caption(counts + (f", {open_} for the learner to judge" if open_ else ""))
    for given in result.given[:8]:
        _given(given, result.num_answered)
    if len(result.given) > 8:
        st.caption(f"and {len(result.given) - 8} other answers, all in the CSV file")
    if not any(given.is_ours for given in result.given):
        with st.expander("The right answer"):
            st.markdown(answer_key(result.question) or "Each learner's own run decides.")


def _given(given: Given, num_answered: int) -> None:
    if given.is_ours:
        mark = "✓ " if given.is_right else ""
        st.progress(
            given.num_learners / num_answered if num_answered else 0.0, f"{mark}{given.text}: {given.num_learners}"
        )
    else:
        verdict = {True: ", right", False: ", wrong", None: ""}[given.is_right]
        st.text(f"{given.num_learners} × {given.text}{verdict}")


def _delete(code: str) -> None:
    problems = state.tab().problems
    try:
        saved.progress().delete_class(code)
        problems.pop(_DELETE, None)
    except ProgressError as error:
        problems[_DELETE] = f"The class was not deleted: {sentence(error)}"
    state.set_widget("class-delete-sure", False)
