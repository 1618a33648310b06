"""The planner in a browser: by keyboard, reopened from its link, and taken along as files."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving.desks import Desks
from tests.browser.driving.lab_page import LabPage
from tests.browser.driving.steady import check

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
VIEWS = ("Time", "Throughput", "Hardware", "Optimisations", "Cache and weights", "How far off?")


def _numbers(lab: LabPage) -> list[str]:
    return lab.page.locator(".pa-value").all_inner_texts()


def _type(lab: LabPage, label: str, value: str) -> None:
    """By keyboard alone, from wherever the focus is."""
    field = lab.page.get_by_role("spinbutton", name=label)
    for _ in range(60):
        if field.evaluate("node => node === document.activeElement"):
            break
        lab.page.keyboard.press("Tab")
    expect(field).to_be_focused()
    lab.page.keyboard.press("Control+A")
    lab.page.keyboard.type(value)
    lab.page.keyboard.press("Enter")
    lab.wait_idle()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_view_fits_and_has_no_serious_accessibility_problem(desks: Desks, width: int, scheme: str) -> None:
    with desks.learner("/planner", width=width, scheme=scheme) as lab:
        for view in VIEWS:
            lab.view(view)
            check(lab)


def test_a_plan_made_by_keyboard_is_made_again_by_its_link_and_exported(visitor: LabPage) -> None:
    visitor.go("/planner")
    expect(visitor.page.locator(".pa-value")).to_have_count(5)
    _type(visitor, "Prompt tokens", "4096")
    _type(visitor, "Conversations", "16")
    visitor.expect_text(re.compile("16 prompts of 4,096 tokens"))
    numbers = _numbers(visitor)
    table = list(csv.DictReader(io.StringIO(visitor.exported("CSV"))))
    assert {row["name"]: row["value"] for row in table}["prompt_tokens"] == "4096"
    assert visitor.exported("Markdown").startswith("# Llama-3.1-8B on NVIDIA H100")
    visitor.press("Export")
    address = visitor.page.locator(
        ".st-key-planner-export code, [data-testid=stPopoverBody] code"
    ).first.inner_text()
    visitor.go("/planner?" + address.partition("?")[2])
    visitor.expect_text(re.compile("16 prompts of 4,096 tokens"))
    assert _numbers(visitor) == numbers


@pytest.mark.parametrize("pause_ms", [0, 5, 10])
def test_two_changes_made_before_the_first_is_answered_both_hold(visitor: LabPage, pause_ms: int) -> None:
    visitor.go("/planner")
    expect(visitor.page.locator(".pa-value")).to_have_count(5)
    for label, value in (("Prompt tokens", "4096"), ("Conversations", "16")):
        visitor.page.get_by_role("spinbutton", name=label).focus()
        visitor.page.keyboard.press("Control+A")
        visitor.page.keyboard.type(value)
        visitor.page.keyboard.press("Enter")
        visitor.page.wait_for_timeout(pause_ms)
    visitor.expect_text(re.compile("16 prompts of 4,096 tokens"))
