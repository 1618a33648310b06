"""Quizzes by lesson: their names, one question after another, the score, and the review of what was missed."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from lessons import Lesson
from pages.ui import state
from pages.ui.course.course import course
from pages.ui.course.progress import show_problem
from pages.ui.learner import saved
from pages.ui.questions.answers import Standing, ask, ask_anew, standing
from quizzes import PredictQuestion, Question

_MARKS: dict[Standing, str] = {"open": "", "right": " ✓", "wrong": " ✗", "yours to judge": " ○"}
_SHORT = {"kv": "KV", "ttft": "TTFT", "itl": "ITL", "tps": "TPS", "gpus": "GPUs"}
OTHERS = {"two_phases": "The two phases in three questions"}


def quiz_names() -> dict[str, str]:
    """What to call each quiz that has questions: by its lesson, in the order of the lessons, then the rest."""
    quizzes = state.quizzes()[0]
    names = {lesson.quiz: f"{lesson.number}. {lesson.title}" for lesson in course().lessons}
    names |= {quiz: OTHERS.get(quiz, quiz) for quiz in quizzes if quiz not in names}
    return {quiz: name for quiz, name in names.items() if quizzes.get(quiz)}


def idea_name(idea: str) -> str:
    """tps-two-meanings: TPS two meanings."""
    first, *others = [_SHORT.get(word, word) for word in idea.split("-")]
    return " ".join([first[:1].upper() + first[1:], *others])


def one_by_one(questions: Sequence[Question], *, key: str) -> None:
    """A row of places, the question at the chosen one, and Next."""
    standings = [standing(question) for question in questions]
    places = list(range(len(questions)))
    first = next((place for place in places if standings[place] == "open"), 0)
    chosen = st.segmented_control(
        "Question",
        places,
        default=first,
        required=True,
        format_func=lambda place: f"{place + 1}{_MARKS[standings[place]]}",
        key=f"{key}-place",
        label_visibility="collapsed",
    )
    place = first if chosen is None else chosen
    line = st.empty()
    ask(questions[place])  # a prediction may be graded while it is drawn
    line.caption(
        f"Question {place + 1} of {len(questions)}. {score([standing(question) for question in questions])}"
    )
    if place + 1 < len(questions):
        st.button("Next question", key=f"{key}-next", on_click=state.set_widget, args=(f"{key}-place", place + 1))


def score(standings: Sequence[Standing]) -> str:
    """5 right, 1 wrong, 2 open."""
    counts = Counter(standings)
    order: tuple[Standing, ...] = ("right", "wrong", "yours to judge", "open")
    return ", ".join(f"{counts[name]} {name}" for name in order if counts[name]) + "."


def show_problems() -> None:
    """What could not be read, in words: earlier answers, and questions with a fault in their file."""
    show_problem()
    if problems := state.quizzes()[1]:
        with st.expander(f"{len(problems)} faults in the quiz files; those questions are left out"):
            st.text("\n".join(f"{fault.path.name}:{fault.line}: {fault.words}" for fault in problems))


def missed() -> list[str]:
    """Questions whose newest answer was wrong and that can be asked again without a run."""
    return [name for name, question in _repeatable().items() if standing(question) == "wrong"]


def due() -> list[str]:
    """Questions up for review now, most overdue first. ProgressError if that cannot be read."""
    return [name for name in saved.due() if name in _repeatable()]


def predictions() -> list[Lesson]:
    """Lessons with a prediction that was off or is due: made again there, where its run is.

    ProgressError if what is due cannot be read.
    """
    ids = {*saved.due(), *(name for name in state.questions() if standing(state.questions()[name]) == "wrong")}
    again = ids - set(_repeatable())
    return [lesson for lesson in course().lessons if again & set(lesson.questions)]


def _repeatable() -> dict[str, Question]:
    return {
        name: question for name, question in state.questions().items() if not isinstance(question, PredictQuestion)
    }


def begin_review(ids: Sequence[str]) -> None:
    """Ask these again, as if for the first time."""
    answering = state.tab().answering
    saved.read_again()  # what this tab knew of them is taken away next; the database still has it
    for question_id in ids:
        ask_anew(question_id)
    answering.review, answering.review_place = tuple(ids), 0


def next_in_review() -> None:
    state.tab().answering.review_place += 1
