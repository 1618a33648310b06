"""Reading a lesson: definitions where the words stand, by pointer and by keyboard, and the pages on paper."""

import pytest
from playwright.sync_api import expect

from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
TERM = '.st-key-lesson p a[href="#prompt"]'
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def test_a_terms_definition_opens_where_it_stands_and_nobody_is_moved(visitor: LabPage) -> None:
    visitor.go("/lesson-01")
    visitor.wait_mounted()
    link, definition = visitor.page.locator(TERM).first, visitor.page.get_by_role("tooltip")
    link.hover()
    expect(definition).to_contain_text("All tokens a request starts with")
    before = visitor.page.evaluate(SCROLLED)
    link.click()
    expect(definition).to_be_visible()
    assert visitor.page.evaluate(SCROLLED) == before
    visitor.page.keyboard.press("Escape")
    expect(definition).to_be_hidden()
    visitor.page.keyboard.press("Tab")  # to the next term
    expect(definition).to_be_visible()
    assert visitor.page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tp-term"
    visitor.page.get_by_role("heading", level=1).click()
    expect(definition).to_be_hidden()


def test_inside_a_lesson_the_sidebar_marks_the_lessons(visitor: LabPage) -> None:
    visitor.go("/lesson-01")
    lessons = visitor.page.locator("[data-testid=stSidebarNav]").get_by_role("link", name="Lessons", exact=True)
    expect(lessons).to_have_attribute("aria-current", "true")
    visitor.page.get_by_role("link", name="Glossary", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="Glossary")).to_be_visible()
    expect(lessons).not_to_have_attribute("aria-current", "true")


def test_on_paper_there_are_charts_and_nothing_to_press(lab: LabPage) -> None:
    lab.prefill()
    lab.next(2)
    lab.wait_drawn()
    lab.page.emulate_media(media="print")
    for gone in ("[data-testid=stSidebar]", ".st-key-controls button", ".st-key-scrub", ".tp-toggle"):
        expect(lab.page.locator(gone).first).to_be_hidden()
    expect(lab.page.locator(".st-key-latency .tp-plot")).to_be_visible()
    assert (
        lab.page.evaluate("getComputedStyle(document.querySelector('[data-testid=stMain]')).overflow") == "visible"
    )


def test_a_phone_shows_no_keys_and_cuts_no_line_of_the_strip(visitor: LabPage) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 800})
    visitor.go("/step-through")
    visitor.prefill()
    visitor.next(2)
    assert not visitor.page.locator("[data-testid=stMain] kbd").first.is_visible()
    top = visitor.page.locator(".strip").evaluate("s => s.scrollTop / parseFloat(getComputedStyle(s).lineHeight)")
    assert top > 0
    assert top == pytest.approx(round(top), abs=0.1)
