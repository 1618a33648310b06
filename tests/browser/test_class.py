"""A class in three browsers at once: two learners behind the teacher's link, and the teacher."""

import re

import pytest
from playwright.sync_api import expect

from quizzes import ChoiceQuestion, load_questions
from tests.browser.conftest import TEACHER_SECRET
from tests.browser.driving.desks import Desks
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
QUESTION = next(one for one in load_questions() if one.id == "passes-for-an-answer")
LESSON = "1. The inference loop"


def test_two_learners_answer_at_once_and_the_teacher_counts_both(
    visitor: LabPage, other_visitor: LabPage, desks: Desks
) -> None:
    with desks.learner("/class") as teacher:
        link = _new_class(teacher)
        for learner, name in ((visitor, "Ana"), (other_visitor, "Bo")):
            _join(learner, link.removeprefix(learner.address), name)
            learner.page.get_by_role("link", name=LESSON).click()
        _answer_at_once([visitor, other_visitor])
        _expect_both_counted(teacher)


def _expect_both_counted(teacher: LabPage) -> None:
    teacher.expect_text("2 joined, 2 of them answered something.")  # without a press
    teacher.reload()
    teacher.expect_text("2 joined, 2 of them answered something.")
    teacher.expect_text("Nicknames: Ana, Bo")
    card = teacher.page.locator(f".st-key-card-class-{QUESTION.id}")
    expect(card.get_by_text("2 answered: 1 right, 1 wrong")).to_be_visible()
    assert isinstance(QUESTION, ChoiceQuestion)
    counts = {choice.id: 0 for choice in QUESTION.choices} | {"n": 1, "n-plus-one": 1}
    for choice in QUESTION.choices:
        expect(card.get_by_text(re.compile(f"{re.escape(choice.text)}: {counts[choice.id]}$"))).to_be_visible()


def _new_class(teacher: LabPage) -> str:
    _sign_in(teacher)
    teacher.page.get_by_text("Make an assignment").click()
    box, option = teacher.page.get_by_role("combobox"), teacher.page.get_by_role("option", name=LESSON)
    box.fill(LESSON)
    while not option.is_visible():  # on a busy machine the section is still opening, and the list shuts with it
        teacher.page.wait_for_timeout(300)
        box.press("ArrowDown")
    option.click()
    teacher.wait_idle()
    teacher.page.keyboard.press("Escape")
    teacher.press("Make the link")
    link = teacher.page.locator("[data-testid=stCode]").get_by_text("?class=").first
    expect(link).to_be_visible()
    return link.inner_text().strip()


def _sign_in(teacher: LabPage) -> None:
    field = teacher.page.get_by_role("textbox", name="Teacher's secret")
    field.fill(TEACHER_SECRET)
    field.press("Enter")
    expect(teacher.page.get_by_text("Make an assignment")).to_be_visible()
    teacher.wait_idle()


def _join(learner: LabPage, path: str, name: str) -> None:
    learner.go(path)
    learner.page.get_by_role("textbox", name="Nickname").fill(name)
    learner.press("Join the class")
    learner.expect_text(f"You have joined as {name}.")


def _answer_at_once(learners: list[LabPage]) -> None:
    """One rightly, one wrongly; the second presses before the first has its verdict."""
    assert isinstance(QUESTION, ChoiceQuestion)
    text = {choice.id: choice.text for choice in QUESTION.choices}
    cards = [learner.page.locator(f".st-key-card-{QUESTION.id}") for learner in learners]
    for card, choice in zip(cards, ("n", "n-plus-one"), strict=True):
        card.get_by_text(text[choice]).click()
        expect(card.get_by_role("button", name="Check")).to_be_enabled()
    for card in cards:
        card.get_by_role("button", name="Check").click(no_wait_after=True)
    for card, verdict in zip(cards, ("Right.", "Not quite."), strict=True):
        expect(card.get_by_text(verdict).first).to_be_visible()
