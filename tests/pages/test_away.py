"""What every page says while the engine's process is away."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from inference.server.laboratory import Laboratory
from pages.ui.serving.addresses import PAGES
from tests.pages.labs import laboratory

WORDS = "The engine was killed; it is started again"


@pytest.mark.parametrize("page", [page for group in PAGES.values() for page in group], ids=lambda page: page.path)
def test_every_page_says_so_and_goes_on(app: AppTest, page: object, monkeypatch: pytest.MonkeyPatch) -> None:
    app.run()
    assert not app.warning
    monkeypatch.setattr(laboratory(), "status", replace(laboratory().status, state="loading", sentence=WORDS))
    monkeypatch.setattr(Laboratory, "is_away", True)
    app.switch_page(f"../{page.script}.py")  # type: ignore[attr-defined]
    app.run()
    assert not app.exception
    assert WORDS in app.warning[0].value
    assert "What you did is kept" in app.warning[0].value
    monkeypatch.undo()
