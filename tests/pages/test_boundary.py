"""A view that raises is one sentence, and what stands around it is drawn."""

import logging
import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.labs import component, texts

SENTENCE = r"This {} could not be drawn \({}\); the others go on. Its log entry is ([0-9a-f]{{8}})."


def _one_of_three() -> None:
    import streamlit as st  # noqa: PLC0415

    from pages.ui.parts.boundary import boundary  # noqa: PLC0415

    st.text("before")
    with boundary():
        st.text("begun")
        raise ZeroDivisionError("float division by zero")
    st.text("after")


def _a_chart() -> None:
    import math  # noqa: PLC0415

    import plotly.graph_objects as go  # noqa: PLC0415
    import streamlit as st  # noqa: PLC0415

    from pages.ui import state  # noqa: PLC0415
    from pages.ui.parts.live_chart import Table, live_chart  # noqa: PLC0415

    def draw(value: float) -> go.Figure:
        return go.Figure(layout={"height": 100, "width": max(10, 100 * math.log10(value))})

    state.restore()
    for name, value in (("good", 10.0), ("bad", 0.0)):
        live_chart(
            lambda value=value: draw(value),  # type: ignore[misc]
            version=value,
            key=name,
            title=name,
            caption="",
            alt=name,
            table=lambda: Table([], []),
        )
    st.text("after")


def _leaving() -> None:
    import streamlit as st  # noqa: PLC0415

    from pages.ui.parts.boundary import boundary  # noqa: PLC0415

    if "drawn" not in st.session_state:
        st.session_state["drawn"] = True
        with boundary():
            st.rerun()
    st.text("drawn again")
    with boundary():
        st.stop()
    st.text("never")


def test_a_failing_view_is_one_sentence_and_the_rest_is_drawn(failures: list[logging.LogRecord]) -> None:
    page = AppTest.from_function(_one_of_three).run()
    assert not page.exception
    before, begun, sentence, after = (text.value for text in page.text)
    assert (before, begun, after) == ("before", "begun", "after")
    said = re.fullmatch(SENTENCE.format("view", "ZeroDivisionError"), sentence)
    assert said
    (record,) = failures
    assert said[1] in record.getMessage()
    assert record.exc_info
    failures.clear()


def test_a_chart_that_cannot_be_drawn_leaves_its_neighbours(
    app: AppTest, failures: list[logging.LogRecord]
) -> None:
    page = AppTest.from_function(_a_chart, default_timeout=20).run()
    assert not page.exception
    assert component(page, "good")["title"] == "good"
    assert re.search(SENTENCE.format("chart", "ValueError"), texts(page))
    assert page.text[-1].value == "after"
    assert len(failures) == 1
    failures.clear()


def test_stop_and_rerun_pass_through() -> None:
    page = AppTest.from_function(_leaving).run()
    assert [text.value for text in page.text] == ["drawn again"]


@pytest.mark.parametrize("place", ["lab", "planner"])
def test_every_lab_and_the_planner_draw_their_views_within_one(
    app: AppTest, failures: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("no such pass")

    if place == "lab":
        monkeypatch.setattr("pages.ui.experiments.latency.ttft_itl.ttft_itl", fails)
    else:
        monkeypatch.setattr("pages.ui.planner.views.views._NEED_A_PLAN", {"Time": fails, "Throughput": fails})
    app.run()
    app.switch_page("../lab/latency.py" if place == "lab" else "../plan/planner.py")
    app.run()
    assert not app.exception
    assert re.search(SENTENCE.format("view", "ValueError"), texts(app))
    assert app.title[0].value == ("Latency" if place == "lab" else "Planner")
    failures.clear()
