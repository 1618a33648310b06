"""Pages on the tiny random model: fast, and with the same code as in the browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.state import laboratory

SHELL = str(Path(__file__).parents[2] / "pages/ui/shell.py")


@pytest.fixture(scope="session")
def roofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for all tests here, so that the roofs are measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, roofs: Path) -> Iterator[AppTest]:
    """The whole app with a model that is ready, on its first page."""
    monkeypatch.setenv("TWOPHASES_MODEL", "random:tiny")
    monkeypatch.setenv("TWOPHASES_CACHE", str(roofs))
    st.cache_resource.clear()
    lab = laboratory()
    lab.start()
    assert lab.wait(60).state == "ready"
    yield AppTest.from_file(SHELL, default_timeout=20)
    lab.worker.stop()
    st.cache_resource.clear()


@pytest.fixture
def step_through(app: AppTest) -> AppTest:
    """The main screen, drawn once."""
    return open_step_through(app)


def open_step_through(app: AppTest) -> AppTest:
    """AppTest knows the pages only after a first run."""
    app.run()
    app.switch_page("../lab/step_through.py")
    return app.run()
