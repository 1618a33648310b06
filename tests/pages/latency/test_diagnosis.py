"""The diagnosis on the page: neutral before the answer, every option with its own feedback after it."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from inference.latency.diagnosis import CAUSES
from lessons.reading.cases import load_cases
from pages.charts.latency.diagnosis import evidence
from pages.ui.experiments.latency.diagnosis import feedback, options
from tests.pages.labs import choose, component, texts


def _diagnosis() -> None:
    from pages.ui.experiments.latency.diagnosis import DiagnosisSettings, diagnosis  # noqa: PLC0415

    diagnosis(DiagnosisSettings(case=3), key="there", is_fixed=True)


@pytest.fixture
def placed(app: AppTest) -> AppTest:
    return AppTest.from_function(_diagnosis, default_timeout=20).run()


def test_a_case_stands_on_an_empty_page_with_its_number_fixed(placed: AppTest) -> None:
    assert not placed.exception
    assert component(placed, "there-chart")["title"] == "Case 3"
    assert not placed.selectbox
    assert placed.radio[0].value is None


def test_nothing_gives_the_cause_away_before_the_answer(placed: AppTest) -> None:
    case = load_cases()[3]
    given = json.dumps([component(placed, "there-chart"), component(placed, "there-table")]) + texts(placed)
    told = (case.cause, case.conditions, case.model, CAUSES[case.cause].helps, CAUSES[case.cause].looks)
    assert not [words for words in told if words in given]
    assert "neighbour" not in given.casefold()


def test_right_and_wrong_answers_get_their_own_feedback(placed: AppTest) -> None:
    case = load_cases()[3]
    seen = set()
    for name in options(case, 3):
        placed.radio[0].set_value(name).run()
        assert not placed.exception
        verdict = [one.value for one in placed.markdown]
        assert ("**Right.**" in verdict) == (name == case.cause)
        assert ("**Not quite.**" in verdict) == (name != case.cause)
        seen.add(texts(placed))
    assert len(seen) == 5


@pytest.mark.parametrize("number", sorted(load_cases()))
def test_every_case_asks_for_its_cause_among_four_others(number: int) -> None:
    case = load_cases()[number]
    asked = options(case, number)
    assert case.cause in asked
    assert len(set(asked)) == 5
    assert asked == options(case, number)
    assert feedback(case, case.cause).startswith("The evidence: ")
    assert all("speaks against it" in feedback(case, name) for name in asked if name != case.cause)


def test_the_place_of_the_answer_tells_nothing() -> None:
    places = [options(case, number).index(case.cause) for number, case in load_cases().items()]
    assert len(set(places)) >= 4


@pytest.mark.parametrize("number", sorted(load_cases()))
def test_the_picture_holds_every_pass_and_every_event(number: int) -> None:
    case = load_cases()[number]
    waits, passes, arrivals = evidence(case).data
    assert len(waits.x) == len(passes.x) == len(case.passes)
    assert list(arrivals.x) == pytest.approx([time_s * 1e3 for time_s in case.client.event_times_s])
    assert passes.base[-1] + passes.x[-1] == pytest.approx(case.server_s * 1e3)


def test_the_lab_offers_every_case(app: AppTest) -> None:
    app.run()
    app.switch_page("../lab/latency.py")
    choose(app.run(), "latency-lab-view", "Diagnosis")
    assert not app.exception
    box = app.selectbox("diagnosis-request")
    assert len(box.options) == len(load_cases()) >= 8
    box.set_value(7).run()
    assert component(app, "diagnosis-chart")["title"] == "Case 7"
    assert app.radio[0].value is None
