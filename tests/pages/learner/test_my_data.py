"""A learner's own data: the bookmark that brings them back, the file, and the end of it."""

import json
import threading

import pytest
from streamlit.testing.v1 import AppTest

from inference.jobs.predicted_run import predicted_run
from inference.run.recipe import Recipe
from pages.ui.learner import saved
from pages.ui.serving.cookies import own_key
from tests.pages.course.test_quiz import continue_as, key_of
from tests.pages.labs import laboratory, texts

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


def bookmarks(app: AppTest) -> list[str]:
    return [str(one.value) for one in app.code]


def test_the_bookmark_is_shown_where_it_is_asked_for(app: AppTest, key: str) -> None:
    assert not bookmarks(app)
    app.toggle(key="bookmark-shown").set_value(True).run()
    (address,) = bookmarks(app)
    assert address.endswith(f"/lessons?key={key}")


def test_who_continues_from_a_bookmark_is_shown_the_way_back_to_their_own(app: AppTest, key: str) -> None:
    other = continue_as(AppTest.from_file(str(app._script_path), default_timeout=20), key)
    other.switch_page("../check/my_data.py").run()
    other.toggle(key="bookmark-shown").set_value(True).run()
    theirs, own = bookmarks(other)
    assert theirs.endswith(f"/lessons?key={key}")
    assert own.endswith(f"/lessons?key={own_key(other.session_state['learner'])}")


def test_the_export_holds_what_is_kept(app: AppTest, key: str) -> None:
    assert app.get_by_key("export-data") is not None
    assert json.loads(saved.exported(key))["answers"][0]["given"] == "a"


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


def test_what_the_server_holds_in_memory_of_the_learner_is_deleted_too(app: AppTest, key: str) -> None:
    lab, mine, theirs = laboratory(), str(app.session_state["learner"]), "ab" * 16
    assert lab.runs
    assert lab.experiments
    for name in (mine, theirs):
        lab.runs.start(name, Recipe("My own secret words", max_new_tokens=4)).result(20)
        lab.experiments.start(predicted_run("My own secret words"), name).future.result(20)  # type: ignore[union-attr]
    second = AppTest.from_file(str(app._script_path), default_timeout=20)
    second.session_state["learner"] = mine
    second.run()
    second.switch_page("../lab/step_through.py").run()
    assert second.text_area(key="prompt").value == "My own secret words"

    app.checkbox(key="delete-sure").check().run()
    app.button(key="delete-data").click().run()
    assert "Deleted." in texts(app)
    assert lab.runs.get(mine) is None
    assert lab.experiments.get(predicted_run("My own secret words"), mine) is None
    for tab in (app, second):
        tab.switch_page("../lab/step_through.py").run()
        assert not tab.exception
        assert "My own" not in str(tab.text_area(key="prompt").value)
        assert tab.session_state["tab"].answering.answers == {}
    assert key_of(app) == key
    assert lab.runs.get(theirs) is not None
    assert lab.experiments.get(predicted_run("My own secret words"), theirs) is not None


def test_a_pass_that_waits_while_all_is_deleted_leaves_no_run(app: AppTest, key: str) -> None:
    lab, mine = laboratory(), str(app.session_state["learner"])
    assert lab.runs
    may_go_on = threading.Event()
    lab.worker.submit(lambda queue_s: may_go_on.wait(20))
    app.session_state["tab"].run.pending = started = lab.runs.start(mine, Recipe("Mine", max_new_tokens=4))
    app.checkbox(key="delete-sure").check().run()
    app.button(key="delete-data").click().run()
    may_go_on.set()
    lab.worker.submit(lambda queue_s: None).result(20)
    assert started.cancelled() or started.done()
    assert lab.runs.get(mine) is None
