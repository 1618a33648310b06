"""Start here: the recording is on the screen whatever the model does."""

from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.state import laboratory
from tests.pages.conftest import SHELL


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
