"""Asks questions on any page: grades what is given, keeps it, and says so when it could not be kept."""

import hashlib
import secrets
from dataclasses import replace
from typing import Literal

import streamlit as st

from inference.jobs.predicted_run import predicted_run
from inference.trace import Trace
from pages.ui import state
from pages.ui.learner import saved
from pages.ui.parts.measurement import known
from pages.ui.questions.predict import RECORDED, prompt_of, show_prediction
from pages.ui.questions.question import given, show
from pages.ui.screen import sentence
from quizzes import Answer, PredictQuestion, Question, WrittenQuestion

Standing = Literal["open", "right", "wrong", "yours to judge"]


def ask(question: Question, *, is_anew: bool = False) -> None:
    """Draw a question with all that belongs to it: the learner's earlier answer, the grade, whether it is kept.

    is_anew: only what was answered in this tab counts, as in a review.
    """
    problems = state.tab().problems
    if isinstance(question, PredictQuestion):
        show_prediction(
            question,
            guess=_guess(question.id),
            answer=_take_in(question),
            on_commit=commit,
            on_recorded=take_recorded,
            problem=problems.get(_name(question.id), ""),
            before=_outcome_before(question.id),
        )
    else:
        show(
            question,
            answer=state.tab().answering.answers.get(question.id) if is_anew else answered(question),
            on_answer=answer,
            seed=saved.key(),
            problem=problems.get(_name(question.id), ""),
        )
        if isinstance(question, WrittenQuestion) and question.id in state.tab().answering.answers:
            _ask_judgement(question)
    if unsaved := problems.get(_unsaved(question.id)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(f"Not saved yet: {unsaved}")
            st.button("Save again", key=f"save-{question.id}", on_click=save_again, args=(question.id,))


def _ask_judgement(question: WrittenQuestion) -> None:
    """A written answer counts as the learner says, who has the rubric in view."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"judge-{question.id}"):
        st.text(
            {"right": "You had it.", "wrong": "Not yet: it will come back."}.get(
                standing(question), "Your verdict:"
            )
        )
        for words, is_correct in (("I had the points", True), ("Not yet", False)):
            st.button(
                words, key=f"judge-{question.id}-{is_correct}", on_click=judge, args=(question.id, is_correct)
            )


def judge(question_id: str, is_correct: bool) -> None:
    """The learner compared a written answer with the rubric."""
    question, answer = state.questions()[question_id], state.tab().answering.answers.get(question_id)
    if isinstance(question, WrittenQuestion) and answer is not None:
        judged = replace(answer, grade=replace(answer.grade, is_correct=is_correct))
        _keep(question, judged, secrets.token_urlsafe(16))


def answered(question: Question) -> Answer | None:
    """This tab's answer, or the one kept from an earlier visit, graded anew."""
    answer = state.tab().answering.answers.get(question.id)
    if answer is None and (before := saved.earlier().answers.get(question.id)):
        try:
            answer = Answer(before.given, question.grade(before.given))
        except ValueError:  # the question has changed since, or it needs a run
            return None
    return answer


def standing(question: Question) -> Standing:
    """How the newest answer fared, in this tab or before."""
    answer, before = state.tab().answering.answers.get(question.id), saved.earlier().answers.get(question.id)
    if answer is None and before is None:
        return "open"
    is_correct = answer.grade.is_correct if answer else before.is_correct if before else None
    return "yours to judge" if is_correct is None else "right" if is_correct else "wrong"


def answer(question_id: str) -> None:
    """Check was pressed."""
    question = state.questions()[question_id]
    text = given(question, saved.key(), state.widget_value)
    problems = state.tab().problems
    problems.pop(_name(question_id), None)
    try:
        grade = question.grade(text)
    except ValueError as error:
        problems[_name(question_id)] = sentence(error)
        return
    _keep(question, Answer(text, grade), secrets.token_urlsafe(16))


def commit(question_id: str) -> None:
    """A prediction was typed: kept before anything runs."""
    question, problems = state.questions()[question_id], state.tab().problems
    problems.pop(_name(question_id), None)
    text = str(state.widget_value(f"answer-{question_id}") or "")
    try:
        if isinstance(question, PredictQuestion):
            question.read(text)
    except ValueError as error:
        problems[_name(question_id)] = sentence(error)
        return
    state.keep_guess(saved.key(), _name(question_id), text)
    if problem := saved.predict(question_id, text):
        problems[_name(question_id)] = f"Not saved yet: {problem} Press Commit again."


def take_recorded(question_id: str) -> None:
    """No model is loaded here: a recorded run answers the prediction, and the learner is told."""
    question, guess = state.questions()[question_id], _guess(question_id)
    if not isinstance(question, PredictQuestion) or guess is None:
        return
    trace = state.recorded(RECORDED)
    where = (
        f"Read from a recorded run: {trace.metadata.model} on {trace.metadata.device}, {trace.metadata.date[:10]}."
    )
    _hold(question, guess, trace, RECORDED, where)


def _guess(question_id: str) -> str | None:
    """The prediction that was committed, now or on an earlier visit."""
    return state.guess(saved.key(), _name(question_id)) or saved.earlier().predictions.get(question_id)


def _outcome_before(question_id: str) -> bool | None:
    """How this very guess turned out on an earlier visit; None if it was not run then, or has been run since."""
    before = saved.earlier().answers.get(question_id)
    if before is None or question_id in state.tab().answering.answers or before.given != _guess(question_id):
        return None
    return before.is_correct


def _take_in(question: PredictQuestion) -> Answer | None:
    """Before it is drawn: once the run of this prompt has ended, the prediction is graded against it, once."""
    if state.laboratory().experiments is None:
        return state.tab().answering.answers.get(question.id)
    guess, job = _guess(question.id), predicted_run(prompt_of(question))
    run = known(job)
    if guess is None or run is None or run.state != "done" or run.result is None:
        return None
    name, trace = f"{job.name}\n{run.started_s}", run.result
    return state.remembered(f"settled {question.id}", name, lambda: _hold(question, guess, trace, name, ""))


def _hold(question: PredictQuestion, guess: str, trace: Trace, run: str, where: str) -> Answer:
    grade = question.grade(guess, trace)
    answer = Answer(guess, replace(grade, feedback=f"{grade.feedback} {where}".strip()))
    act = hashlib.sha256(f"{question.id}\n{run}".encode()).hexdigest()[:32]  # a reload finds the same run
    _keep(question, answer, act)
    return answer


def _keep(question: Question, answer: Answer, submission: str) -> None:
    """In this tab, and in the database. The same answer again, such as a double click, is one act of answering."""
    here = state.tab()
    here.answering.answers[question.id] = answer
    act = (answer.given, answer.grade.is_correct)
    name = state.remembered(f"submission {question.id}", act, lambda: submission)
    here.problems.pop(_unsaved(question.id), None)
    problem = saved.save(question, answer.given, answer.grade, submission=name)
    if problem:
        here.problems[_unsaved(question.id)] = problem


def save_again(question_id: str) -> None:
    """The database was away; the answer is still in this tab."""
    if answer := state.tab().answering.answers.get(question_id):
        _keep(state.questions()[question_id], answer, secrets.token_urlsafe(16))


def ask_anew(question_id: str) -> None:
    """Forget this tab's answer, so that a review asks as if for the first time."""
    here = state.tab()
    here.answering.answers.pop(question_id, None)
    here.drawing.remembered.pop(f"submission {question_id}", None)


def _name(question_id: str) -> str:
    return f"question-{question_id}"


def _unsaved(question_id: str) -> str:
    return f"unsaved-{question_id}"
