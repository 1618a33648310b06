"""A prediction is committed, the model runs, and both numbers stand side by side."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from inference.jobs.predicted_run import predicted_run
from pages.ui.learner import saved
from pages.ui.state import quizzes
from quizzes import PredictQuestion
from tests.pages.labs import laboratory

pytestmark = pytest.mark.slow
PATIENCE_S = 60


@pytest.fixture
def question() -> PredictQuestion:
    """One whose answer depends on the prompt."""
    found = [one for quiz in quizzes()[0].values() for one in quiz if isinstance(one, PredictQuestion)]
    return next(one for one in found if one.measure == "context_len" or one.measure.startswith("kv_bytes"))


def page(question_id: str) -> None:
    # AppTest runs this source alone
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.questions.answers import ask  # noqa: PLC0415

    ask(state.questions()[question_id])


def said(app: AppTest) -> str:
    return "\n".join(str(one.value) for one in [*app.markdown, *app.caption, *app.text])


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


def run_to_the_end(app: AppTest, prompt: str) -> AppTest:
    press(app, "Run")
    experiments = laboratory().experiments
    assert experiments is not None
    deadline = time.monotonic() + PATIENCE_S
    one = experiments.get(predicted_run(prompt), str(app.session_state["learner"]))
    assert one is not None
    while one.is_running and time.monotonic() < deadline:
        time.sleep(0.02)
    assert one.problem == ""
    return app.run()


def test_two_prompts_have_two_right_answers_and_both_are_graded_against_their_run(
    app: AppTest, question: PredictQuestion
) -> None:
    page_of = AppTest.from_function(page, args=(question.id,), default_timeout=20)
    page_of.session_state["learner"] = "cd" * 16
    page_of.run()
    assert not [button for button in page_of.button if button.label == "Run"], "commit comes first"
    page_of.text_input[0].input("a lot")
    press(page_of, "Commit")
    assert "is not a number" in said(page_of)
    page_of.text_input[0].input("123")
    press(page_of, "Commit")
    measured = []
    for prompt in ("The lighthouse", "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"):
        page_of.text_area[0].input(prompt).run()
        assert "Not quite" not in said(page_of), "this prompt has not run yet"
        run_to_the_end(page_of, prompt)
        experiments = laboratory().experiments
        assert experiments is not None
        one = experiments.get(predicted_run(prompt), "cd" * 16)
        assert one is not None
        assert one.result is not None
        assert question.grade("123", one.result).feedback in said(page_of)
        measured.append(question.measured(one.result))
        assert saved.progress().predictions(saved_key(page_of)) == {question.id: "123"}
        kept = saved.progress().answers(saved_key(page_of))[question.id]
        assert (kept.given, kept.is_correct) == ("123", question.grade("123", one.result).is_correct)
    assert measured[0] != measured[1]


def saved_key(app: AppTest) -> str:
    return str(app.session_state["tab"].key)


def test_an_empty_prompt_is_refused_before_any_pass(app: AppTest, question: PredictQuestion) -> None:
    page_of = AppTest.from_function(page, args=(question.id,), default_timeout=20).run()
    page_of.text_input[0].input("7")
    press(page_of, "Commit")
    page_of.text_area[0].input("  ").run()
    press(page_of, "Run")
    assert "The prompt is empty" in said(page_of)


def test_a_later_visit_says_how_a_prediction_turned_out_until_another_is_made(
    app: AppTest, question: PredictQuestion
) -> None:
    first = AppTest.from_function(page, args=(question.id,), default_timeout=20).run()
    key = saved_key(first)
    saved.progress().predict(key, question.id, "123")
    saved.progress().answer(key, question.id, "123", is_correct=False, idea=question.idea, submission="1")
    later = AppTest.from_function(page, args=(question.id,), default_timeout=20)
    later.session_state["learner"] = str(first.session_state["learner"])
    later.run()
    assert "You predicted 123 on an earlier visit, and it was off." in said(later)
    later.text_input[0].input("124")
    press(later, "Commit")
    assert "You predicted 124." in said(later)
    assert "earlier visit" not in said(later)
