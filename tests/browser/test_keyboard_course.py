"""A lesson by keyboard alone, and the bookmark that brings its reader back into the middle of it."""

import pytest
from playwright.sync_api import expect

from lessons import Ask, load_lessons
from quizzes import Question, load_questions
from tests.browser.driving.bookmarks import bookmark_of, continue_from
from tests.browser.driving.keyboard import Keyboard
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
LESSON = next(lesson for lesson in load_lessons() if lesson.id == "latency")
QUESTIONS = {question.id: question for question in load_questions()}


def test_every_kind_of_question_is_answered_without_a_mouse_and_a_bookmark_leads_back(
    visitor: LabPage, other_visitor: LabPage
) -> None:
    asked = [QUESTIONS[name] for name in LESSON.questions]
    assert {one.kind for one in asked} == {one.kind for one in QUESTIONS.values()}, "take a lesson with every kind"
    visitor.go(f"/lesson-{LESSON.number:02}")
    expect(visitor.page.locator(f".st-key-card-{asked[-1].id}")).to_be_attached(timeout=30_000)
    visitor.wait_idle()
    keyboard, half = Keyboard(visitor), len(asked) // 2
    for question in asked[:half]:
        keyboard.answer(question)
    _expect_to_go_on(other_visitor, bookmark_of(visitor), answered=asked[0], at=asked[half])
    for question in asked[half:]:
        keyboard.answer(question)


def _expect_to_go_on(other: LabPage, bookmark: str, *, answered: Question, at: Question) -> None:
    """In another browser, which has the bookmark and nothing else."""
    continue_from(other, bookmark)
    other.go(f"/lesson-{LESSON.number:02}")
    section = next(
        one
        for one in LESSON.sections
        if any(isinstance(part, Ask) and part.question == at.id for part in one.parts)
    )
    other.expect_text(f"You stopped here: {section.title}")
    expect(other.page.locator(f".st-key-card-{answered.id}").get_by_text("Right.").first).to_be_visible()
    other.page.get_by_role("link", name="Lessons", exact=True).click()
    expect(other.button(f"Go on with {LESSON.number}. {LESSON.title}")).to_be_visible()
