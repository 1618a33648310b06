"""A question on a page: asked, answered, and answered again."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from quizzes import ChoiceQuestion, WrittenQuestion, load_questions
from quizzes.kinds.filled import filled
from tests.quizzes.kinds import facts, kinds

__all__ = ["facts"]

TTFT = "which-phase-ttft"
GPUS = "more-gpus-for-decode"
QUESTIONS = {question.id: question for question in load_questions()}


def page(question_id: str, folder: str) -> None:
    # AppTest runs this source alone, so the imports and the owner of the state are inside
    from pathlib import Path  # noqa: PLC0415

    import streamlit as st  # noqa: PLC0415

    from pages.ui.questions.question import given, show  # noqa: PLC0415
    from quizzes import Answer, PredictQuestion, load_questions, open_questions  # noqa: PLC0415

    found = load_questions() if not folder else open_questions(Path(folder))[0]
    question = next(one for one in found if one.id == question_id)
    assert not isinstance(question, PredictQuestion)

    def on_answer(question_id: str) -> None:
        text = given(question, "a", st.session_state.get)
        st.session_state.problem = ""
        try:
            st.session_state.answer = Answer(text, question.grade(text))
        except ValueError as error:
            st.session_state.problem = str(error)

    show(
        question,
        answer=st.session_state.get("answer"),
        on_answer=on_answer,
        seed="a",
        problem=st.session_state.get("problem", ""),
    )


def open_page(question_id: str, folder: Path | None = None) -> AppTest:
    app = AppTest.from_function(page, args=(question_id, str(folder or ""))).run()
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
    assert radio.options == [option.text for option in ttft.asked("a").options]
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
    assert filled(gpus.model_answer) not in texts(app)
    app.text_area[0].input("A pipeline helps nobody wait less.")
    app.button[0].click().run()
    shown = texts(app)
    assert f"- *mentioned:* {gpus.rubric[1].text}" in shown
    assert f"- *not seen in your answer:* {gpus.rubric[0].text}" in shown
    assert filled(gpus.model_answer) in shown
    assert not app.exception


def test_a_blank_answer_gets_a_hint_and_no_rubric(gpus: WrittenQuestion) -> None:
    app = open_page(GPUS)
    app.text_area[0].input("  ")
    app.button[0].click().run()
    assert "the answer is blank; write at least a sentence" in texts(app)
    assert filled(gpus.model_answer) not in texts(app)


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
    again = AppTest.from_function(page, args=(TTFT, ""))
    again.session_state.answer = app.session_state.answer
    again.run()
    assert again.radio[0].value == "both"
    assert ttft.grade("both").feedback in texts(again)


def test_several_choices_are_ticked_and_each_gets_its_feedback(tmp_path: Path, facts: None) -> None:
    kinds(tmp_path)
    app = open_page("several", tmp_path)
    assert app.button[0].disabled
    assert "One per KV head" not in texts(app)
    for box in app.checkbox:
        if box.label in ("Keys", "Weights"):
            box.check()
    app.run()
    app.button[0].click().run()
    shown = texts(app)
    assert "**Not quite.** 1 of 3 choices are right." in shown
    assert "- Values *(left out, but it belongs)* Likewise." in shown
    assert "- Weights *(chosen, but it does not belong)* They are apart." in shown
    next(box for box in app.checkbox if box.label == "Values").check().run()
    assert "Not quite." not in texts(app)


def test_an_order_is_chosen_place_by_place(tmp_path: Path, facts: None) -> None:
    kinds(tmp_path)
    app = open_page("sequence", tmp_path)
    assert [box.label for box in app.selectbox] == ["Place 1", "Place 2", "Place 3"]
    assert app.button[0].disabled
    for box, item in zip(app.selectbox, ("tok", "tok", "dec"), strict=True):
        box.set_value(item)
    app.run()
    app.button[0].click().run()
    assert "'tok' is given twice" in texts(app)
    app.selectbox[1].set_value("pre").run()
    app.button[0].click().run()
    assert "**Right.** Text becomes tokens first." in texts(app)
    assert "1. Tokenise *(in its place)*" in texts(app)


def test_a_number_that_cannot_be_read_costs_nothing(tmp_path: Path, facts: None) -> None:
    kinds(tmp_path)
    app = open_page("gap", tmp_path)
    assert app.text_input[0].label == "Your answer in ms"
    app.text_input[0].input("∞")
    app.button[0].click().run()
    assert "'∞' is not a number; write digits, such as 1,234.5 or 1e3, with or without ms" in texts(app)
    assert "answer" not in app.session_state
    app.text_input[0].input("0.05 s")
    app.button[0].click().run()
    assert "**Right.** It is 50.0 ms." in texts(app)
    assert "not a number" not in texts(app)


def test_a_term_is_filled_in(tmp_path: Path, facts: None) -> None:
    kinds(tmp_path)
    app = open_page("word", tmp_path)
    app.text_input[0].input("memory")
    app.button[0].click().run()
    assert "**Not quite.** Memory holds more than that." in texts(app)
    assert not app.exception
