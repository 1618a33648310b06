"""A question on a page: asked, answered, and answered again."""

import pytest
from streamlit.testing.v1 import AppTest

from quizzes import ChoiceQuestion, WrittenQuestion, load_questions

TTFT = "which-phase-ttft"
GPUS = "more-gpus-for-decode"
QUESTIONS = {question.id: question for question in load_questions()}


def page(question_id: str) -> None:
    # AppTest runs this source alone, so the imports and the owner of the state are inside
    import contextlib  # noqa: PLC0415

    import streamlit as st  # noqa: PLC0415

    from pages.ui.question import show  # noqa: PLC0415
    from quizzes import Answer, load_questions  # noqa: PLC0415

    questions = {question.id: question for question in load_questions()}

    def on_answer(question_id: str, widget_key: str) -> None:
        given = st.session_state[widget_key]
        with contextlib.suppress(ValueError):
            st.session_state.answer = Answer(given, questions[question_id].grade(given))

    show(
        questions[question_id],
        answer=st.session_state.get("answer"),
        on_answer=on_answer,
        seed="a",
    )


def open_page(question_id: str) -> AppTest:
    app = AppTest.from_function(page, args=(question_id,)).run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.text])


@pytest.fixture
def ttft() -> ChoiceQuestion:
    question = QUESTIONS[TTFT]
    assert isinstance(question, ChoiceQuestion)
    return question


@pytest.fixture
def gpus() -> WrittenQuestion:
    question = QUESTIONS[GPUS]
    assert isinstance(question, WrittenQuestion)
    return question


def test_an_unanswered_choice_shows_its_options_and_cannot_be_checked(ttft: ChoiceQuestion) -> None:
    app = open_page(TTFT)
    (radio,) = app.radio
    assert radio.label == ttft.prompt
    assert radio.options == [choice.text for choice in ttft.shuffled("a")]
    assert radio.value is None
    assert app.button[0].disabled
    assert texts(app) == f"**{ttft.prompt}**"


def test_a_choice_is_checked_with_a_click_and_can_be_changed(ttft: ChoiceQuestion) -> None:
    app = open_page(TTFT)
    app.radio[0].set_value("decode").run()
    app.button[0].click().run()
    assert f"**Not quite.** {ttft.grade('decode').feedback}" in texts(app)

    app.radio[0].set_value("prefill").run()
    assert "Not quite." not in texts(app)
    assert "Right." not in texts(app)

    app.button[0].click().run()
    assert f"**Right.** {ttft.grade('prefill').feedback}" in texts(app)
    assert not app.exception


def test_a_written_answer_is_shown_beside_the_rubric_and_the_model_answer(gpus: WrittenQuestion) -> None:
    app = open_page(GPUS)
    assert gpus.model_answer not in texts(app)
    app.text_area[0].input("A pipeline helps nobody wait less.")
    app.button[0].click().run()
    shown = texts(app)
    assert f"- *mentioned:* {gpus.rubric[1].text}" in shown
    assert f"- *not seen in your answer:* {gpus.rubric[0].text}" in shown
    assert gpus.model_answer in shown
    assert not app.exception


def test_a_blank_answer_gets_a_hint_and_no_rubric(gpus: WrittenQuestion) -> None:
    app = open_page(GPUS)
    app.text_area[0].input("  ")
    app.button[0].click().run()
    assert "Write an answer first" in texts(app)
    assert gpus.model_answer not in texts(app)


def test_a_learners_text_is_never_read_as_markdown() -> None:
    app = open_page(GPUS)
    image = "![x](https://example.org/x.png) pipeline"
    app.text_area[0].input(image)
    app.button[0].click().run()
    app.text_area[0].input("Edited since.").run()
    assert [element.value for element in app.text] == [image]
    assert not any("example.org" in element.value for element in [*app.markdown, *app.caption])


def test_a_kept_answer_is_still_there_when_the_page_opens_again(ttft: ChoiceQuestion) -> None:
    app = open_page(TTFT)
    app.radio[0].set_value("both").run()
    app.button[0].click().run()
    again = AppTest.from_function(page, args=(TTFT,))
    again.session_state.answer = app.session_state.answer
    again.run()
    assert again.radio[0].value == "both"
    assert ttft.grade("both").feedback in texts(again)
