"""Every page of the course: nothing serious for accessibility, no sideways scroll, no fault in the console."""

import pytest

from lessons import load_lessons
from tests.browser.driving.desks import Desks
from tests.browser.driving.steady import check

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
PAGES = (
    *("lessons", "glossary", "quiz", "review", "mastery", "my-data", "class"),
    *(f"lesson-{lesson.number:02}" for lesson in load_lessons()),
)
LOOKS = [(390, "dark"), (1280, "light"), (390, "light"), (1280, "dark")]


@pytest.mark.parametrize("turn", range(len(LOOKS)))
def test_each_page_of_the_course_in_one_of_the_looks(desks: Desks, turn: int) -> None:
    width, scheme = LOOKS[turn]
    with desks.learner(None, width=width, scheme=scheme) as lab:
        for page in PAGES[turn :: len(LOOKS)]:
            lab.go(f"/{page}")
            lab.wait_mounted()
            check(lab)
