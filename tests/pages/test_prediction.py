"""A prediction comes before its outcome, whoever measured it, and is asked where it belongs."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from inference.kv_cache.recompute import recompute_job
from pages.ui.experiments.kv_cache.recompute import PREDICTION
from pages.ui.parts.prediction import Bins
from tests.pages.labs import choose, finish, texts

CHARTS = "recompute-time"


def components(app: AppTest) -> list[str]:
    return [one.proto.id for one in app.get("bidi_component")]


def is_drawn(app: AppTest) -> bool:
    return any(one.endswith(f"-{CHARTS}") for one in components(app))


@pytest.fixture
def newcomer(app: AppTest) -> AppTest:
    """A learner without a guess, where somebody else has measured before."""
    app.run()
    finish(recompute_job())
    app.switch_page("../lab/kv_cache.py")
    return app.run()


@pytest.mark.slow
def test_what_somebody_measured_before_is_veiled_until_the_guess(newcomer: AppTest) -> None:
    assert not is_drawn(newcomer)
    assert "shown once you have predicted" in texts(newcomer)
    assert "Measured" not in texts(newcomer)
    choose(newcomer, f"predict-{PREDICTION.id}", PREDICTION.options[0])
    assert is_drawn(newcomer)
    assert "Measured" in texts(newcomer)


@pytest.mark.slow
def test_show_me_lifts_the_veil_without_a_guess(newcomer: AppTest) -> None:
    newcomer.button(key=f"show-{PREDICTION.id}").click().run()
    assert is_drawn(newcomer)
    assert not [button for button in newcomer.button if str(button.key).startswith("show-")]


@pytest.mark.slow
def test_the_question_is_asked_on_its_own_view_only(newcomer: AppTest) -> None:
    for name in ("Formula", "Blocks", "Growth"):
        choose(newcomer, "kv-lab-view", name)
        assert not newcomer.exception
        assert not any(PREDICTION.prompt in str(one.value) for one in newcomer.markdown)
        assert "shown once you have predicted" not in texts(newcomer)
    choose(newcomer, "kv-lab-view", "With and without")
    assert any(PREDICTION.prompt in str(one.value) for one in newcomer.markdown)


def test_every_prediction_of_a_lab_is_about_its_first_view() -> None:
    for page in (Path(__file__).parents[2] / "pages/lab").glob("*.py"):
        text = page.read_text()
        if "prediction=PREDICTION" not in text:
            continue
        views = text[text.index("views={") :]
        first = views.partition(":")[2].partition(",")[0].strip().removeprefix("lambda: ").partition("(")[0]
        (source,) = [line for line in text.splitlines() if line.startswith("from") and "outcome" in line]
        assert first in source.partition(" import ")[2], page.name


def test_a_value_falls_into_the_bin_whose_threshold_it_stays_under() -> None:
    bins = Bins(((2.0, "under 2"), (10.0, "2 to 10")), "over 10")
    assert bins.options == ("under 2", "2 to 10", "over 10")
    names = [bins.name_of(value) for value in (0.5, 1.99, 2.0, 9.9, 10.0, 1e9)]
    assert names == ["under 2", "under 2", "2 to 10", "2 to 10", "over 10", "over 10"]
