"""What only a browser shows of the structure experiment: a click that brings its text along, and the keyboard."""

import pytest
from playwright.sync_api import Locator, expect

from inference.structure.examples import EXAMPLES
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def _editor(lab: LabPage) -> Locator:
    return lab.page.get_by_role("textbox", name="Constraint")


@pytest.fixture
def structure(visitor: LabPage) -> LabPage:
    visitor.go("/sampling")
    visitor.page.get_by_role("radio", name="Structure").click()
    expect(_editor(visitor)).to_have_value(EXAMPLES["person"].constraint.source)
    visitor.wait_idle()
    visitor.page.get_by_role("combobox", name="Example").click()
    visitor.page.get_by_role("option", name="Planet, choices").click()
    expect(_editor(visitor)).to_have_value(EXAMPLES["planet"].constraint.source)
    visitor.wait_idle()
    return visitor


def test_text_typed_just_before_the_click_is_what_runs(structure: LabPage) -> None:
    strip = structure.page.locator(".strip")
    for number in range(3):
        _editor(structure).fill(f"Pluto {number}")
        structure.press("Generate" if number == 0 else "Generate again")
        expect(strip).to_have_text(f"Pluto␣{number}")


def test_the_arrow_keys_go_from_token_to_token(structure: LabPage) -> None:
    _editor(structure).fill("Pluto\nPlovdiv")
    structure.press("Generate")
    strip = structure.page.get_by_role("listbox", name="Output, token by token")
    expect(strip.get_by_role("option").nth(1)).to_be_visible()
    expect(structure.page.get_by_role("button", name="Generate again")).to_be_visible()
    strip.focus()
    for key, place in (("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        structure.page.keyboard.press(key)
        structure.expect_text(f"Token {place} of ")
        expect(strip.get_by_role("option").nth(place - 1)).to_have_attribute("aria-selected", "true")


def test_markup_in_a_constraint_stays_text(structure: LabPage) -> None:
    _editor(structure).fill("<img src=x onerror=alert(1)>")
    structure.press("Generate")
    expect(structure.page.locator(".strip")).to_have_text("<img␣src=x␣onerror=alert(1)>")
    assert structure.page.locator(".strip img").count() == 0
