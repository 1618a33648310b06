"""The course in a real browser, on the real model: reading, going to a term and back, and coming back later."""

import re

import pytest
from playwright.sync_api import expect

from lessons import Place, load_lessons
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
LESSONS = load_lessons()


def test_every_lesson_is_reached_by_its_next_link_and_draws_its_experiments(visitor: LabPage) -> None:
    visitor.go("/lessons")
    visitor.press("Begin")
    for lesson in LESSONS:
        title = f"{lesson.number}. {lesson.title}"
        expect(visitor.page.get_by_role("heading", name=title, exact=True)).to_be_visible(timeout=10_000)
        visitor.wait_idle()
        for section in lesson.sections:
            expect(visitor.page.get_by_role("heading", name=section.title, exact=True)).to_be_attached()
        num_cards = len(lesson.questions) + len(list(lesson.all_of(Place)))  # one each, or more
        assert visitor.page.locator("[class*=st-key-card-]").count() >= num_cards, lesson.id
        assert visitor.page.locator("[data-testid=stException]").count() == 0
        for question in lesson.questions:
            box = visitor.page.locator(f".st-key-card-{question}").bounding_box()
            assert box is not None, question
            assert box["width"] > 300, question
        assert visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        following = visitor.page.get_by_role("link", name=re.compile(r"^Next: "))
        if lesson is not LESSONS[-1]:
            following.click()
    expect(following).to_have_count(0)


def test_a_term_opens_its_definition_which_stands_on_the_same_page_too(visitor: LabPage) -> None:
    visitor.go("/lesson-04")
    visitor.wait_mounted()
    link = visitor.page.locator(".st-key-lesson p a").first
    expect(link).to_have_attribute("title", re.compile(r"\w+"))
    target = link.get_attribute("href") or ""
    name = visitor.page.locator(target).inner_text()
    with visitor.answered():
        link.scroll_into_view_if_needed()  # a definition closes when the page moves
    link.click()
    expect(visitor.page.get_by_role("tooltip")).to_contain_text(name)
    assert len(visitor.context.pages) == 1


def test_an_answer_brings_the_learner_back_to_the_next_section(visitor: LabPage) -> None:
    lesson = next(one for one in LESSONS if one.id == "batching")
    path = f"/lesson-{lesson.number:02}"
    visitor.go(path)
    card = visitor.page.locator(f".st-key-card-{lesson.questions[0]}")
    card.get_by_role("radio").first.focus()
    visitor.page.keyboard.press("Space")
    check = card.get_by_role("button", name="Check")
    expect(check).to_be_enabled()
    check.press("Enter")
    expect(card.get_by_text(re.compile("Right|Not quite")).first).to_be_visible()
    visitor.go("/lessons")
    expect(visitor.page.get_by_role("button", name=f"Go on with {lesson.number}. {lesson.title}")).to_be_visible()
    visitor.go(path)
    stopped = visitor.page.get_by_text("You stopped here").locator("a")
    target = stopped.get_attribute("href") or ""
    stopped.click()
    expect(visitor.page.locator(target)).to_be_in_viewport()
