"""Addresses in a real browser: they bring back what was on the screen, and never who looked at it."""

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from pages.ui.serving.addresses import pages
from quizzes import ChoiceQuestion, load_questions
from tests.browser.driving.bookmarks import bookmark_of, continue_from
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
LESSON = "/lesson-01"
QUESTION = next(one for one in load_questions() if one.id == "passes-for-an-answer")


def answer(lab: LabPage) -> None:
    assert isinstance(QUESTION, ChoiceQuestion)
    lab.go(LESSON)
    card = lab.page.locator(f".st-key-card-{QUESTION.id}")
    right = next(choice for choice in QUESTION.choices if choice.id == QUESTION.right())
    card.get_by_text(right.text).click()
    expect(card.get_by_role("button", name="Check")).to_be_enabled()
    card.get_by_role("button", name="Check").click()
    expect(card.get_by_text("Right.").first).to_be_visible()
    lab.wait_idle()


def exported(lab: LabPage) -> list[str]:
    """The questions that this browser's learner has answered, as My data gives them."""
    lab.go("/my-data")
    with lab.page.expect_download() as download:
        lab.press("Export my data")
    return [one["question"] for one in json.loads(download.value.path().read_text())["answers"]]


def test_an_address_copied_on_any_page_shows_another_browser_nothing_of_its_owner(
    visitor: LabPage, other_visitor: LabPage
) -> None:
    answer(visitor)
    assert exported(visitor) == [QUESTION.id]
    key = bookmark_of(visitor).partition("?key=")[2]
    other_visitor.go("/my-data")
    for path in pages():
        visitor.move(f"/{path}")
        address = visitor.page.url
        assert key not in address
        assert "key=" not in address
        page = other_visitor.page.request.get(address)  # what opening it answers, and then what is drawn
        assert key not in page.text() + str(page.headers_array)
        other_visitor.move(address.removeprefix(other_visitor.address))
        assert key not in other_visitor.page.content()
    other_visitor.go(LESSON)
    expect(other_visitor.page.locator(f".st-key-card-{QUESTION.id}").get_by_text("Right.")).to_have_count(0)
    assert exported(other_visitor) == []
    assert exported(visitor) == [QUESTION.id]


def test_a_bookmark_is_opened_on_purpose_and_ones_own_leads_back(visitor: LabPage, other_visitor: LabPage) -> None:
    answer(visitor)
    bookmark = bookmark_of(visitor)
    other_visitor.go(LESSON)
    own = bookmark_of(other_visitor)
    other_visitor.page.goto(bookmark)
    other_visitor.page.get_by_role("link", name="Stay as I am").click()
    other_visitor.wait_idle()
    assert other_visitor.page.url == f"{other_visitor.address}/lessons"
    assert exported(other_visitor) == []
    continue_from(other_visitor, bookmark)
    assert exported(other_visitor) == [QUESTION.id]
    other_visitor.reload()
    assert bookmark_of(other_visitor) == bookmark
    other_visitor.go(bookmark.removeprefix(other_visitor.address))  # one's own now: nothing to ask
    assert other_visitor.page.url == f"{other_visitor.address}/lessons"
    continue_from(other_visitor, own)
    assert exported(other_visitor) == []


def test_back_leads_to_the_page_before_and_not_through_the_views_of_this_one(visitor: LabPage) -> None:
    visitor.go("/kv-cache?view=growth")
    for view, name in {"Formula": "?view=formula", "With and without": "", "Blocks": "?view=blocks"}.items():
        visitor.view(view)
        expect(visitor.page).to_have_url(f"{visitor.address}/kv-cache{name}")
    visitor.page.get_by_role("link", name="Roofline", exact=True).click()
    expect(visitor.page).to_have_url(f"{visitor.address}/roofline")
    expect(visitor.page).to_have_title("Roofline · Two Phases")
    visitor.page.go_back()
    expect(visitor.page).to_have_url(f"{visitor.address}/kv-cache?view=blocks")
    expect(visitor.page.get_by_role("heading", name="KV cache", level=1)).to_be_visible()


def test_a_run_is_opened_from_the_address_bar_in_another_browser(lab: LabPage, visitor: LabPage) -> None:
    lab.prefill("The capital of France is")
    lab.next(2)
    lab.next(3)
    expect(lab.page).to_have_url(re.compile(r"steps=3"))
    visitor.go(lab.page.url.removeprefix(lab.address))
    visitor.expect_step(3)
    assert visitor.tokens() == lab.tokens()
    lab.reload()
    lab.expect_step(3)


def test_a_term_has_an_address(visitor: LabPage) -> None:
    visitor.go("/glossary#kv-cache")
    expect(visitor.page.locator("#kv-cache")).to_be_in_viewport()
    assert visitor.page.url.endswith("/glossary#kv-cache")


def test_below_a_path_pages_open_and_charts_draw(server_below_a_path: str, browser: Browser) -> None:
    page = LabPage.open(browser, server_below_a_path, "/")
    page.page.wait_for_selector(".st-key-start-latency .tp-chart[data-drawn]")
    page.go("/lesson-2")
    assert page.page.url == f"{server_below_a_path}/lesson-02"
    page.go("/kv-cache?view=formula")
    page.page.wait_for_selector(".tp-chart[data-drawn]")
    page.go("")  # without the slash
    page.page.wait_for_selector(".st-key-start-latency .tp-chart[data-drawn]")
    page.close()


@pytest.mark.parametrize(("status", "body"), [(404, "no"), (200, "<!DOCTYPE html>")])
def test_a_chart_whose_script_does_not_load_says_so_in_its_place(
    server: str, browser: Browser, status: int, body: str
) -> None:
    page = LabPage.open(browser, server, None)
    page.page.route("**/plotly.min.js", lambda route: route.fulfill(status=status, body=body))
    page.go("/")
    place = page.page.locator(".st-key-start-latency .tp-plot")
    expect(place).to_contain_text("plotly.min.js could not be loaded")
    page.context.close()
