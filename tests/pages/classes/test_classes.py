"""The class: shut without a secret, a link made by the teacher, joined by learners, counted without names."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from pages.ui.classes import live as class_live
from pages.ui.classes import secret as class_secret
from pages.ui.classes.assignment import Assignment
from pages.ui.classes.secret import VARIABLE, Tries, teachers, tries
from pages.ui.learner import saved
from pages.ui.state import quizzes
from quizzes.progress.progress import Progress
from tests.pages.course.test_quiz import continue_as, key_of
from tests.pages.labs import texts

pytestmark = pytest.mark.slow
SECRET = "correct horse battery"
CLASS_NAME = "Physics 9b <b>"
NICKNAME = "**Ana** <img src=x onerror=alert(1)> ![](http://x)"[:40]


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    monkeypatch.setattr(type(st.context), "ip_address", "10.0.0.7")  # AppTest has another at every call
    tries.clear()  # of the tests before
    teachers.clear()


def open_class(app: AppTest, code: str = "") -> AppTest:
    if code:
        app.query_params["class"] = code
    app.run()
    app.switch_page("../check/classroom.py").run()
    assert not app.exception
    return app


def other(app: AppTest) -> AppTest:
    """Another browser."""
    return AppTest.from_file(str(app._script_path), default_timeout=20)


def sign_in(app: AppTest, secret: str = SECRET) -> AppTest:
    app.text_input(key="class-secret").set_value(secret).run()
    assert not app.exception
    return app


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def new_class(lessons: tuple[str, ...] = ("inference-loop",), query: str = "", model: str = "") -> str:
    return saved.progress().new_class(Assignment(lessons, query, model).to_settings())


def said(app: AppTest) -> str:
    return "\n".join(str(one.value) for one in [*app.markdown, *app.caption, *app.text, *app.subheader])


@pytest.mark.parametrize("secret", [None, "", "elevenchars"])
def test_without_a_secret_the_page_says_how_to_set_one_and_nothing_else(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, secret: str | None
) -> None:
    if secret is None:
        monkeypatch.delenv(VARIABLE)
    else:
        monkeypatch.setenv(VARIABLE, secret)
    open_class(app, new_class())
    assert VARIABLE in texts(app)
    assert "12 characters" in texts(app)
    assert not [*app.text_input, *app.button, *app.selectbox, *app.multiselect, *app.code, *app.subheader]
    assert len(app.text) == 1


@pytest.mark.parametrize("wrong", ["correct horse batterz", SECRET + "x", "ä" * 30, "x" * 100_000])
def test_a_wrong_secret_opens_nothing(app: AppTest, wrong: str) -> None:
    new_class()
    sign_in(open_class(app), wrong)
    assert "That is not the secret" in texts(app)
    assert not [*app.button, *app.selectbox, *app.code]


def test_after_a_wrong_secret_the_next_try_waits_and_nobody_else_does(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = Tries(lambda: 100.0)
    monkeypatch.setattr(class_secret, "tries", lambda: standing)
    code = new_class()
    sign_in(open_class(app), "correct horse batterz")
    sign_in(app)
    assert "There was a wrong try" in texts(app)
    assert not [*app.button, *app.selectbox, *app.code]
    press(open_class(other(app), code), "class-join")


def test_wrong_tries_of_others_keep_no_teacher_out(app: AppTest) -> None:
    new_class()
    pupils = [open_class(app), open_class(other(app))]
    for _ in range(3):
        for pupil in pupils:
            sign_in(pupil, "correct horse batterz")
    teacher = sign_in(open_class(other(app)))
    assert teacher.selectbox(key="class-shown").value
    assert not pupils[0].selectbox


def test_a_reload_leaves_the_teacher_signed_in_and_signing_out_ends_it_in_every_tab(app: AppTest) -> None:
    new_class()
    app.session_state["learner"] = "cd" * 16  # as a browser's cookie says it
    sign_in(open_class(app))
    again = other(app)
    again.session_state["learner"] = "cd" * 16
    assert open_class(again).selectbox(key="class-shown").value
    assert not open_class(other(app)).selectbox
    press(again, "class-sign-out")
    for tab in (again, app.run()):
        assert not tab.selectbox
        assert tab.text_input(key="class-secret")


def test_a_teacher_makes_a_link_and_sees_what_learners_answered(app: AppTest) -> None:
    sign_in(open_class(app))
    press(app, "class-make")
    assert "No lesson is chosen" in texts(app)
    app.multiselect(key="class-lessons").set_value(["inference-loop"]).run()
    app.text_input(key="class-name").set_value(CLASS_NAME).run()
    recipe = Recipe("Once upon", SamplingParams(temperature=0.5, seed=3), 12, model="some/model")
    app.text_input(key="class-link").set_value(f"http://host/step-through?{recipe.to_query()}").run()
    press(app, "class-make")
    code = app.selectbox(key="class-shown").value
    assert isinstance(code, str)
    assert any(f"?class={code}" in str(one.value) for one in app.code)
    assert "0 joined" in texts(app)

    assert any(one.startswith(f"{CLASS_NAME} ({code})") for one in app.selectbox(key="class-shown").options)

    learner = open_class(other(app), code)
    assert f"Class: {CLASS_NAME}" in texts(learner)
    assert "Once upon" in texts(learner)
    assert "made for some/model; here random:tiny answers" in texts(learner)
    learner.text_input(key="class-nickname").set_value(NICKNAME).run()
    press(learner, "class-join")
    assert f"You have joined as {NICKNAME}." in texts(learner)
    key = key_of(learner)
    question = next(one for one in quizzes()[0]["inference-loop"] if one.kind == "choice")
    saved.progress().answer(key, question.id, question.right(), is_correct=True, idea=question.idea, submission="1")

    app.run()  # as the timer of the page does, every few seconds
    assert "1 joined, 1 of them answered something." in texts(app)
    bars = [str(bar.proto.text) for bar in app.get("progress")]
    assert any(bar.startswith("✓ right · ") and bar.endswith(": 1") for bar in bars)
    assert any(bar.startswith("✗ wrong · ") and bar.endswith(": 0") for bar in bars)
    assert f"Nicknames: {NICKNAME}" in texts(app)
    assert NICKNAME not in "\n".join(str(one.value) for one in [*app.markdown, *app.caption])
    assert "1 answered: 1 right, 0 wrong" in said(app)
    assert key not in said(app)


def test_a_page_left_open_stops_asking_and_goes_on_when_it_is_told_to(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_class()
    monkeypatch.setattr(class_live, "AT_MOST_S", -1.0)
    sign_in(open_class(app))
    assert "0 joined" in texts(app)
    monkeypatch.setattr(class_live, "AT_MOST_S", 60.0)
    press(app, "class-live")
    assert not [one for one in app.button if one.key == "class-live"]


def test_what_the_teacher_set_is_in_the_learners_form(app: AppTest) -> None:
    recipe = Recipe("Once upon", SamplingParams(temperature=0.5, seed=3), 12)
    open_class(app, new_class(query=recipe.to_query()))
    press(app, "class-run")
    app.switch_page("../lab/step_through.py").run()
    assert app.text_area(key="prompt").value == "Once upon"
    assert app.session_state["temperature"] == 0.5
    assert app.session_state["max_new_tokens"] == 12


def test_a_learner_who_comes_back_has_joined_and_can_change_the_nickname(app: AppTest) -> None:
    code = new_class()
    press(open_class(app, code), "class-join")
    assert "You have joined, without a nickname." in texts(app)
    again = continue_as(other(app), key_of(app))
    again.session_state["tab"].classroom.code = code
    open_class(again, code)
    again.text_input(key="class-nickname").set_value("Bo").run()
    press(again, "class-join")
    assert "You have joined as Bo." in texts(again)
    assert saved.progress().classes()[0].num_members == 1


@pytest.mark.parametrize("code", ["ABCDEFGH", "x" * 10_000, "' OR 1=1 --", "<b>"])
def test_a_code_that_no_class_has_says_so(app: AppTest, code: str) -> None:
    open_class(app, code)
    assert "There is no class with this code" in texts(app)
    assert not app.button


def test_a_class_is_deleted_after_a_confirmation(app: AppTest) -> None:
    kept, gone = new_class(), new_class(("decode",))
    sign_in(open_class(app))
    app.selectbox(key="class-shown").set_value(gone).run()
    assert app.button(key="class-delete").disabled
    app.checkbox(key="class-delete-sure").check().run()
    press(app, "class-delete")
    left = {one.code for one in saved.progress().classes()}
    assert kept in left
    assert gone not in left
    assert app.selectbox(key="class-shown").value in left
    assert not app.checkbox(key="class-delete-sure").value


def test_a_database_that_is_away_is_told_to_learner_and_teacher(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = new_class()
    away = Progress("postgresql://127.0.0.1:9/nobody", wait_s=0.1)
    open_class(app, code)
    monkeypatch.setattr(saved, "progress", lambda: away)
    press(app, "class-join")
    assert "does not answer" in texts(app)
    assert "You have joined" not in texts(app)
    sign_in(app)
    assert "does not answer" in texts(app)
