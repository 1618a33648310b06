"""A learner's bookmark in the browser: read under My data, opened on purpose elsewhere."""

from playwright.sync_api import expect

from tests.browser.driving.lab_page import IDLE, LabPage


def bookmark_of(lab: LabPage) -> str:
    """In a tab of its own: the page in hand, and where its focus is, stay as they are."""
    page = lab.context.new_page()
    page.goto(f"{lab.address}/my-data")
    page.wait_for_selector(IDLE)
    page.get_by_text("Show my bookmark").click()
    bookmark = page.locator("[data-testid=stCode]").first.inner_text().strip()
    page.close()
    return bookmark


def continue_from(lab: LabPage, bookmark: str) -> None:
    lab.page.goto(bookmark)
    expect(lab.page.get_by_role("heading", name="Continue as the learner of this bookmark?")).to_be_visible()
    lab.page.get_by_role("button", name="Continue").click()
    lab.wait_idle()
    assert "key=" not in lab.page.url
