"""Every page of the course: nothing serious for accessibility, no sideways scroll, no fault in the console."""

import pytest
from playwright.sync_api import Browser

from lessons import load_lessons
from tests.browser.driving.lab_page import LabPage
from tests.browser.driving.steady import check

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
PAGES = (
    *("lessons", "glossary", "quiz", "review", "mastery", "my-data", "class"),
    *(f"lesson-{lesson.number:02}" for lesson in load_lessons()),
)
LOOKS = [(390, "dark"), (1280, "light"), (390, "light"), (1280, "dark")]


@pytest.mark.parametrize("turn", range(len(LOOKS)))
def test_each_page_of_the_course_in_one_of_the_looks(server: str, browser: Browser, turn: int) -> None:
    width, scheme = LOOKS[turn]
    lab = LabPage.open(browser, server, "/lessons", width=width, scheme=scheme)
    for page in PAGES[turn :: len(LOOKS)]:
        lab.go(f"/{page}")
        lab.wait_mounted()
        check(lab)
    lab.close()
