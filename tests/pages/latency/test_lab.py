"""The latency lab: its views, its numbers, and each experiment on an empty page."""

import base64
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from inference.latency.queueing import LEFT_OUT, simulate
from inference.latency.waterfall import ttft_stages
from inference.machine.sweep_jobs import context_job, prompt_job
from lessons import load_trace
from tests.pages.labs import PATIENCE_S, choose, component, figure, finish, laboratory, open_lab, run_of, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view


@pytest.fixture
def latency(app: AppTest) -> AppTest:
    return open_lab(app, "latency")


def _ttft_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.latency.ttft_itl import TtftItlSettings, ttft_itl  # noqa: PLC0415

    state.restore()
    ttft_itl(TtftItlSettings("ITL by context length"), key="alone", is_fixed=True)


def _waterfall_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.latency.waterfall import WaterfallSettings, waterfall  # noqa: PLC0415

    state.restore()
    waterfall(WaterfallSettings(load=80.0), key="alone", is_fixed=True)


def _load_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.latency.load import LoadSettings, load  # noqa: PLC0415

    state.restore()
    load(LoadSettings(load=90.0, num_output_tokens=4), key="alone", is_fixed=True)


def test_the_lab_opens_with_a_prediction_and_nothing_measured_by_itself(latency: AppTest) -> None:
    assert not latency.exception
    assert "Predict first" in latency.markdown[0].value
    assert latency.button[0].label.startswith("Measure")


def test_the_sweeps_medians_are_what_the_chart_shows_with_the_estimate_beside_them(latency: AppTest) -> None:
    sweep = finish(prompt_job())
    deadline = time.monotonic() + PATIENCE_S
    while laboratory().ceilings is None and time.monotonic() < deadline:
        time.sleep(0.1)
    latency.run()
    drawn = figure(latency, "ttft-itl-ttft")["data"]
    measured = next(trace for trace in drawn if trace["name"] == "prefill, measured")
    shown = np.frombuffer(base64.b64decode(measured["y"]["bdata"]))
    assert list(shown) == pytest.approx([point.median_s * 1e3 for point in sweep.points])
    assert {trace["name"] for trace in drawn} >= {"floor", "linear: matrices", "quadratic: attention", "sum"}
    assert "the median error is" in texts(latency)


def test_itl_is_shown_against_context(latency: AppTest) -> None:
    finish(context_job())
    choose(latency, "ttft-itl-shown", "ITL by context length")
    assert not latency.exception
    names = {trace["name"] for trace in figure(latency, "ttft-itl-itl")["data"]}
    assert {"decode, measured", "estimate"} <= names


def test_the_waterfall_shows_the_recordings_own_stages_until_there_is_a_run(latency: AppTest) -> None:
    choose(latency, "latency-lab-view", "Waterfall")
    stages = ttft_stages(load_trace("lighthouse").steps[0])
    drawn = figure(latency, "waterfall-stages")["data"]
    assert [trace["x"][0] for trace in drawn] == pytest.approx([stage.seconds * 1e3 for stage in stages])
    assert "a recording of" in component(latency, "waterfall-stages")["caption"]


def test_the_waterfall_shows_the_learners_own_run(latency: AppTest) -> None:
    run_of(latency, "Hello", 2)
    choose(latency, "latency-lab-view", "Waterfall")
    assert "your run" in component(latency, "waterfall-stages")["caption"]


def test_load_moves_the_queue_and_nothing_else_in_the_waterfall(latency: AppTest) -> None:
    choose(latency, "latency-lab-view", "Waterfall")
    before = [trace["x"][0] for trace in figure(latency, "waterfall-stages")["data"]]
    latency.slider[0].set_value(80.0).run()
    after = [trace["x"][0] for trace in figure(latency, "waterfall-stages")["data"]]
    assert after[1] > before[1]
    assert after[:1] + after[2:] == before[:1] + before[2:]
    assert "Simulated queue" in texts(latency)


def test_a_simulated_queue_says_that_its_server_does_not_batch_and_what_makes_a_real_one(latency: AppTest) -> None:
    choose(latency, "latency-lab-view", "Waterfall")
    assert LEFT_OUT not in component(latency, "waterfall-stages")["caption"]
    latency.slider[0].set_value(80.0).run()
    assert LEFT_OUT in component(latency, "waterfall-stages")["caption"]
    choose(latency, "latency-lab-view", "Load")
    assert LEFT_OUT in component(latency, "load-curve")["caption"]
    choose(latency, "latency-lab-view", "Goodput")
    assert "without batches" in component(latency, "goodput-chart")["caption"]
    for word in ("one at a time", "places in the batch", "room for KV caches"):
        assert word in LEFT_OUT


def test_the_load_curve_is_the_simulation_of_the_recordings_service_time(latency: AppTest) -> None:
    choose(latency, "latency-lab-view", "Load")
    trace = load_trace("lighthouse")
    prefill_s = trace.steps[0].latency_s - trace.steps[0].queue_s
    decode_s = [step.latency_s - step.queue_s for step in trace.steps[1:]]
    service_s = prefill_s + sum(decode_s[place % len(decode_s)] for place in range(31))
    waits = simulate([service_s], load=0.6, num_requests=20_000, seed=1)
    assert f"{(waits.wait_percentile_s(99) + prefill_s):.3g} s" in texts(latency)


@pytest.mark.parametrize(
    ("place", "key"),
    [(_ttft_alone, "alone-itl"), (_waterfall_alone, "alone-stages"), (_load_alone, "alone-curve")],
)
def test_each_experiment_stands_on_an_empty_page_without_controls(app: AppTest, place: object, key: str) -> None:
    assert laboratory().engine is not None
    page = AppTest.from_function(place, default_timeout=20)  # type: ignore[arg-type]
    page.run()
    assert not page.exception
    assert component(page, key)["title"]
    assert not page.slider
    assert not page.number_input
    assert not page.get("button_group")
