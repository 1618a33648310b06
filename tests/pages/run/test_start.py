"""Start here: the recording is on the screen whatever the model does."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from inference.arithmetic.roofline import Ceilings
from pages.ui.parts.roofs_text import about_roofs
from tests.pages.conftest import SHELL
from tests.pages.labs import component, laboratory


@pytest.fixture
def _no_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A laboratory of this test's own, that cannot load anything."""
    monkeypatch.setenv("TWOPHASES_MODEL", "random:no-such-shape")
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.mark.usefixtures("_no_model")
def test_the_recording_is_shown_while_no_model_can_be_had() -> None:
    app = AppTest.from_file(SHELL, default_timeout=20)
    app.run()
    assert not app.exception
    assert app.title[0].value == "An LLM answers in two phases"
    assert laboratory().wait(60).state == "failed"
    app.run()
    assert not app.exception
    assert [button.label for button in app.button if button.key == "retry"] == ["Try again"]
    app.switch_page("../lab/step_through.py")
    app.run()
    assert not app.exception
    assert any("No catalogue shape is called 'no-such-shape'" in text.value for text in app.text)


def test_the_way_into_the_lab_is_the_one_primary_button(app: AppTest) -> None:
    app.run()
    assert not app.exception
    assert app.button("own").label == "Step through your own"
    app.button("own").click().run()
    assert not app.exception
    assert app.title[0].value == "Step through a generation"


def test_the_machine_card_says_how_far_the_repeats_lay_apart_and_what_was_left_out(app: AppTest) -> None:
    lab = laboratory()
    kept = lab.ceilings
    assert kept is not None
    app.run()
    assert "quartiles: read bandwidth 9.50 GB/s to 9.90 GB/s" in component(app, "machine")["sentence"]
    try:
        lab.ceilings = replace(kept, left_out=("Nothing of 2,048 was measured.",))
        assert component(app.run(), "machine")["sentence"].endswith("Nothing of 2,048 was measured.")
    finally:
        lab.ceilings = kept


def test_roofs_that_a_pass_beat_are_said_to_be_measured_again(known_roofs: tuple[Path, Ceilings]) -> None:
    told = about_roofs(known_roofs[1], beaten_by=0.12)
    assert "A pass was 12.0 % faster than they allow: they are measured again in the background." in told
    assert "measured again" not in about_roofs(known_roofs[1])
