"""What is kept of a learner in the database. Every function says in words what could not be done."""

import json
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from pages.ui import state
from pages.ui.learner import key as learner_key
from pages.ui.learner.forgetting import forget_learner
from pages.ui.screen import sentence
from quizzes import Grade, Question
from quizzes.progress.progress import Mastery, Progress, ProgressError, Remains, StoredAnswer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was given on earlier visits, by question."""

    answers: dict[str, StoredAnswer] = field(default_factory=dict)
    predictions: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why they are not known; empty if they are."""


@st.cache_resource(show_spinner=False)
def progress() -> Progress:
    return Progress()


def key() -> str:
    return learner_key.key()


def save(question: Question, given: str, grade: Grade, *, submission: str) -> str:
    """Keep an answer; empty once it is safe, or why it is not."""
    try:
        progress().answer(
            key(), question.id, given, is_correct=grade.is_correct, idea=question.idea, submission=submission
        )
    except ProgressError as error:
        log.warning("An answer was not kept: %s", error)
        return sentence(error)
    return ""


def predict(question_id: str, given: str) -> str:
    """Keep a prediction before anything runs; empty once it is safe, or why it is not."""
    try:
        progress().predict(key(), question_id, given)
    except ProgressError as error:
        log.warning("A prediction was not kept: %s", error)
        return sentence(error)
    return ""


def lab_guess(prediction_id: str) -> str | None:
    """What was predicted in a lab, in this visit or an earlier one."""
    return state.guess(key(), prediction_id) or earlier().predictions.get(_in_lab(prediction_id))


def keep_lab_guess(prediction_id: str, value: str) -> None:
    """For the server's life at least, and in the database where there is one."""
    state.keep_guess(key(), prediction_id, value)
    predict(_in_lab(prediction_id), value)


def _in_lab(prediction_id: str) -> str:
    return f"lab-{prediction_id}"


def earlier() -> Earlier:
    """Read once per tab."""
    return state.remembered("earlier answers", key(), partial(_read, key()))


def _read(name: str) -> Earlier:
    try:
        return Earlier(progress().answers(name), progress().predictions(name))
    except ProgressError as error:
        log.warning("Earlier answers were not read: %s", error)
        return Earlier(problem=sentence(error))


def read_again() -> None:
    """The database was away: ask it once more at the next drawing."""
    state.tab().drawing.remembered.pop("earlier answers", None)


def due() -> list[str]:
    """Questions up for review, most overdue first. ProgressError if that cannot be read."""
    return progress().due(key(), datetime.now(UTC))


def mastery() -> dict[str, Mastery]:
    """By idea. ProgressError if that cannot be read."""
    return progress().mastery(key())


def exported(name: str) -> str:
    """All that is kept under this key, as JSON; or why it cannot be had, in the same place.

    The file is made for a click, outside of any page: whose it is was known as the button was drawn.
    """
    try:
        return progress().export(name)
    except ProgressError as error:
        return json.dumps({"problem": sentence(error)})


def delete() -> None:
    """Forget the learner in the database and here."""
    try:
        remains = progress().delete(key())
    except ProgressError as error:
        state.tab().problems["delete"] = f"Nothing was deleted: {sentence(error)}"
        return
    forget_learner()
    state.set_widget("delete-sure", False)
    state.tab().problems["delete"] = _DELETED[remains]


_DELETED: dict[Remains, str] = {
    "nothing": "Deleted. Nothing of yours is kept any more.",
    "log": "Deleted. Something else holds the database, so its log may keep your text a while: delete again later.",
    "server": "Deleted: nothing of yours can be read here any more. The database server's own log and its backups "
    "may hold it until they are replaced; whoever runs the server can say when.",
}
