"""What a class answers, as it comes in: read again every few seconds while the teacher looks."""

import time

import streamlit as st

from lessons import Lesson
from pages.ui import state
from pages.ui.classes.results import Given, QuestionResult, answer_key, idea_results, question_results
from pages.ui.course.quiz import idea_name
from pages.ui.learner import saved
from pages.ui.parts.framed import framed
from pages.ui.screen import sentence
from quizzes.progress.progress import ProgressError

EVERY_S = 4.0
AT_MOST_S = 2 * 3600.0  # a page left open stops asking after a double lesson
_VERDICTS = {True: "right", False: "wrong"}


def live_answers(code: str, name: str | None, lesson: Lesson | None) -> None:
    """Who joined, and how one lesson's questions are answered."""
    classroom = state.tab().classroom
    until_s = time.monotonic() + AT_MOST_S
    if classroom.is_paused:
        st.button("Show new answers as they come", key="class-live", on_click=_go_on)

    def draw() -> None:
        if time.monotonic() > until_s and not classroom.is_paused:
            classroom.is_paused = True
            st.rerun()  # the whole page once, which ends the timer
        try:
            _people(code)
            if lesson:
                _results(code, lesson)
        except ProgressError as error:
            st.text(sentence(error))

    st.fragment(draw, run_every=None if classroom.is_paused else EVERY_S)()


def _go_on() -> None:
    state.tab().classroom.is_paused = False


def _people(code: str) -> None:
    nicknames = saved.progress().members(code)
    num_active = len({row.member for row in saved.progress().results(code)})
    st.text(f"{len(nicknames)} joined, {num_active} of them answered something.")
    if names := sorted(filter(None, nicknames), key=str.casefold):
        st.text("Nicknames: " + ", ".join(names))


def _results(code: str, lesson: Lesson) -> None:
    st.subheader("Results", anchor=False)
    st.caption("The newest answer of each learner. The right answers come from what grades them.")
    results = question_results(saved.progress().results(code), state.quizzes()[0].get(lesson.quiz, []))
    with framed("class-ideas"):
        st.markdown("**By idea**")
        for idea, idea_result in idea_results(results).items():
            graded = idea_result.num_right + idea_result.num_wrong
            words = f"{idea_result.num_right} of {graded} answers right" if graded else "not answered yet"
            _bar(f"idea-{idea}", idea_result.num_right, graded, f"{idea_name(idea)}: {words}", is_right=True)
    for result in results:
        with framed(f"class-{result.question.id}"):
            _question(result)


def _question(result: QuestionResult) -> None:
    st.markdown(f"**{result.question.spoken_prompt}**")
    open_ = result.num_answered - result.num_right - result.num_wrong
    counts = f"{result.num_answered} answered: {result.num_right} right, {result.num_wrong} wrong"
    st.caption(counts + (f", {open_} for the learner to judge" if open_ else ""))
    for place, answer in enumerate(result.given[:8]):
        _given(answer, result, place)
    if len(result.given) > 8:
        st.caption(f"and {len(result.given) - 8} other answers, all in the CSV file")
    if not any(answer.is_ours for answer in result.given):
        with st.expander("The right answer"):
            st.markdown(answer_key(result.question) or "Each learner's own run decides.")


def _given(answer: Given, result: QuestionResult, place: int) -> None:
    verdict = _VERDICTS.get(answer.is_right, "")  # type: ignore[arg-type]  # None: not judged
    if answer.is_ours:
        words = f"{'✓' if answer.is_right else '✗'} {verdict} · {answer.text}: {answer.num_learners}"
        name = f"{result.question.id}-{place}"
        _bar(name, answer.num_learners, result.num_answered, words, is_right=bool(answer.is_right))
    else:
        st.text(f"{answer.num_learners} × {answer.text}" + (f", {verdict}" if verdict else ""))


def _bar(name: str, count: int, total: int, words: str, *, is_right: bool) -> None:
    """Right and wrong differ in colour, in hatching and in words; the style sheet has the first two."""
    with st.container(key=f"bar-{_VERDICTS[is_right]}-{name}"):
        st.progress(count / total if total else 0.0, words)
