"""A learner's own data: the address that brings them back, the file, and the end of it."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import saved
from tests.pages.labs import texts
from tests.pages.test_check import key_of

pytestmark = pytest.mark.slow


@pytest.fixture
def key(app: AppTest) -> str:
    """Of a learner with one answer, who looks at the page."""
    app.run()
    app.switch_page("../check/my_data.py").run()
    found = key_of(app)
    saved.progress().answer(found, "q", "a", is_correct=True, idea="i", submission="1")
    app.run()
    assert not app.exception
    return found


def test_the_bookmark_has_the_learners_key_and_brings_them_back(app: AppTest, key: str) -> None:
    (address,) = [str(one.value) for one in app.code]
    assert address.endswith(f"/lessons?key={key}")
    other = AppTest.from_file(str(app._script_path), default_timeout=20)
    other.query_params["key"] = key
    other.run()
    other.switch_page("../check/my_data.py").run()
    assert [str(one.value) for one in other.code] == [address]


def test_the_export_holds_what_is_kept(app: AppTest, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert app.get_by_key("export-data") is not None
    monkeypatch.setattr(saved, "key", lambda: key)  # the file is made for a click, outside a page
    assert json.loads(saved.exported())["answers"][0]["given"] == "a"


def test_everything_is_deleted_after_a_confirmation_only(app: AppTest, key: str) -> None:
    assert app.button(key="delete-data").disabled
    app.checkbox(key="delete-sure").check().run()
    app.button(key="delete-data").click().run()
    assert not app.exception
    assert "Deleted." in texts(app)
    kept = json.loads(saved.progress().export(key))
    assert not any(kept[table] for table in ("learner", "answers", "predictions", "reviews", "classes"))
    assert not app.checkbox(key="delete-sure").value
    assert app.button(key="delete-data").disabled
