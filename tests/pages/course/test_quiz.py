"""Quiz, review and mastery, on the course's own questions."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.course.course import course
from pages.ui.learner import saved
from pages.ui.serving.cookies import own_key
from pages.ui.state import questions
from quizzes import Question
from quizzes.progress.progress import Progress
from tests.pages.labs import texts

pytestmark = pytest.mark.slow
SEEDS = "two_phases"


def open_check(app: AppTest, page: str) -> AppTest:
    app.run()
    app.switch_page(f"../check/{page}.py")
    app.run()
    assert not app.exception
    return app


def choose_quiz(app: AppTest, quiz: str) -> AppTest:
    next(box for box in app.selectbox if box.label == "Lesson").set_value(quiz)
    return app.run()


def answer(app: AppTest, choice: str) -> AppTest:
    app.radio[0].set_value(choice).run()
    next(button for button in app.button if button.label == "Check").click().run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    return "\n".join(str(one.value) for one in [*app.markdown, *app.caption, *app.text])


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


def key_of(app: AppTest) -> str:
    """The learner's: no address shows it."""
    key: str = app.session_state["tab"].key or own_key(app.session_state["learner"])
    return key


def continue_as(app: AppTest, key: str) -> AppTest:
    """As a browser that opened this learner's bookmark and pressed Continue."""
    app.run()
    app.session_state["tab"].key = key
    return app


def test_a_quiz_goes_from_question_to_question_and_counts(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    assert "Question 1 of 3. 3 open." in said(app)
    answer(app, "decode")
    assert "Question 1 of 3. 1 wrong, 2 open." in said(app)
    answer(app, "prefill")
    assert "Question 1 of 3. 1 right, 2 open." in said(app)
    press(app, "Next question")
    assert "Question 2 of 3. 1 right, 2 open." in said(app)
    assert "Why is LLM decode memory-bound" in said(app)
    assert "Right." not in said(app)


def test_every_lessons_quiz_can_be_asked(app: AppTest) -> None:
    open_check(app, "quiz")
    box = next(box for box in app.selectbox if box.label == "Lesson")
    assert len(box.options) >= 14
    for quiz in {question.kind: quiz for quiz, found in _quizzes().items() for question in found}.values():
        choose_quiz(app, quiz)
        assert not app.exception


def _quizzes() -> dict[str, list[Question]]:
    from pages.ui.state import quizzes  # noqa: PLC0415

    return {quiz: list(found) for quiz, found in quizzes()[0].items()}


def test_what_was_missed_is_asked_again_as_if_for_the_first_time(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    answer(app, "decode")
    open_check(app, "review")
    press(app, "Ask again what was missed (1)")
    assert questions()["which-phase-ttft"].prompt in said(app)
    assert "Not quite" not in said(app)
    assert app.radio[0].value is None
    assert next(button for button in app.button if button.label == "Finish").disabled
    answer(app, "prefill")
    press(app, "Finish")
    assert "Done: 1 reviewed." in texts(app)
    assert not [button for button in app.button if "missed" in button.label]


def test_mastery_is_counted_per_idea(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    answer(app, "prefill")
    key = key_of(app)
    open_check(app, "mastery")
    idea = questions()["which-phase-ttft"].idea
    assert saved.progress().mastery(key)[idea].right == 1
    bars = [element.proto for element in app.get("progress")]
    assert any("1 of" in bar.text and bar.value > 0 for bar in bars)


def test_a_bookmark_brings_the_learner_back_on_another_machine(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    answer(app, "decode")
    key = key_of(app)
    other = continue_as(AppTest.from_file(str(app._script_path), default_timeout=20), key)
    open_check(other, "quiz")
    choose_quiz(other, SEEDS)
    assert "1 wrong, 2 open." in said(other)


def test_a_key_in_the_address_makes_nobody_somebody_else(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    answer(app, "decode")
    stranger = AppTest.from_file(str(app._script_path), default_timeout=20)
    stranger.query_params["key"] = key_of(app)
    open_check(stranger, "quiz")
    choose_quiz(stranger, SEEDS)
    assert "3 open." in said(stranger)
    assert key_of(stranger) != key_of(app)


def test_an_answer_that_could_not_be_kept_says_so_and_can_be_sent_again(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    away = Progress("postgresql://127.0.0.1:9/nobody", wait_s=0.1)
    real = saved.progress()
    monkeypatch.setattr(saved, "progress", lambda: away)
    answer(app, "prefill")
    assert "Right." in said(app)
    assert "Not saved yet:" in texts(app)
    monkeypatch.setattr(saved, "progress", lambda: real)
    press(app, "Save again")
    assert "Not saved yet:" not in texts(app)
    assert real.answers(key_of(app))["which-phase-ttft"].given == "prefill"


def test_a_written_answer_counts_as_the_learner_says(app: AppTest) -> None:
    open_check(app, "quiz")
    choose_quiz(app, SEEDS)
    press(app, "Next question")
    press(app, "Next question")
    app.text_area[0].input("Copies do not help a single token.")
    press(app, "Compare with the rubric")
    assert "Question 3 of 3. 1 yours to judge, 2 open." in said(app)
    press(app, "Not yet")
    assert "Question 3 of 3. 1 wrong, 2 open." in said(app)
    press(app, "I had the points")
    assert "Question 3 of 3. 1 right, 2 open." in said(app)
    assert saved.progress().answers(key_of(app))["more-gpus-for-decode"].is_correct is True


def test_a_prediction_that_was_off_is_made_again_in_its_lesson(app: AppTest) -> None:
    open_check(app, "review")
    assert not links(app)
    (lesson,) = [one for one in course().lessons if "newest-token" in one.questions]
    saved.progress().answer(
        key_of(app), "newest-token", "5", is_correct=False, idea="cache-length", submission="off"
    )
    again = continue_as(AppTest.from_file(str(app._script_path), default_timeout=20), key_of(app))
    open_check(again, "review")
    assert links(again) == [f"{lesson.number}. {lesson.title}"]
    assert "Nothing is due now." in texts(again)
    assert not [button for button in again.button if "missed" in button.label]


def links(app: AppTest) -> list[str]:
    return [str(one.proto.label) for one in app.get("page_link")]
