"""The roofline lab without a browser: its views, its measurements, and each experiment placed anywhere."""

import csv
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from streamlit.testing.v1 import AppTest

from inference.arithmetic.roofline import Spread
from inference.machine.cores import by_pass, cores_job
from inference.machine.placed import place, roofs_job
from inference.machine.probes import modules_job
from inference.machine.sweep_io import to_csv
from inference.machine.sweep_jobs import batch_job, prompt_job
from pages.charts.roofline.cores import pass_name
from pages.charts.roofline.measured import lab_roofline
from pages.ui import state
from pages.ui.experiments.roofline import cores
from tests.pages.labs import choose, component, figure, finish, laboratory, open_lab, texts


@pytest.fixture
def lab_page(app: AppTest) -> Iterator[AppTest]:
    """The lab, with this machine's roofs measured; what a test does to the roofs is undone."""
    lab = laboratory()
    deadline = time.monotonic() + 60
    while lab.ceilings is None and time.monotonic() < deadline:
        time.sleep(0.05)
    kept = lab.ceilings
    assert kept is not None
    yield open_lab(app, "roofline")
    lab.ceilings = kept


def traces(app: AppTest, key: str) -> list[str]:
    return [trace.get("name", "") for trace in figure(app, key)["data"]]


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "roofline-lab-view", name)


def is_primary(app: AppTest) -> list[str]:
    return [button.label for button in app.button if button.proto.type == "primary"]


def test_the_lab_opens_with_a_prediction_and_at_most_one_primary_button(lab_page: AppTest) -> None:
    assert not lab_page.exception
    assert any("which reaches more of this machine's FLOP/s" in markdown.value for markdown in lab_page.markdown)
    for name in ("Measured", "Operators", "Modules", "More cores"):
        view(lab_page, name)
        assert not lab_page.exception
        assert len(is_primary(lab_page)) <= 1


def test_both_sweeps_are_drawn_under_the_roofs_and_answer_the_prediction(lab_page: AppTest) -> None:
    finish(prompt_job()), finish(batch_job())
    choose(lab_page, "predict-roofline-factor", "about the same")
    assert not lab_page.exception
    assert "You predicted about the same" in texts(lab_page)
    assert "times as much" in texts(lab_page)
    assert "Decode at batch 1 took" in texts(lab_page)
    assert {"prefill", "decode", "measured roofs, float32", "overhead roof"} <= set(
        traces(lab_page, "roofline-chart")
    )


def test_the_exported_file_says_what_the_chart_shows(lab_page: AppTest) -> None:
    for job, phase in ((prompt_job(), "prefill"), (batch_job(), "decode")):
        sweep = finish(job)
        (drawn,) = lab_roofline(place(sweep), []).select_traces({"name": phase})
        exported = {}
        for line in csv.DictReader(io.StringIO(to_csv(sweep))):
            setting = (int(line["num_query_tokens"]), int(line["context_len"]), int(line["batch_size"]))
            flops, size = float(line["flops_estimated"]), float(line["bytes_estimated"])
            exported[setting] = (flops / size, flops / float(line["median_s"]) / 1e9)
        points = list(zip(drawn.x, drawn.y, strict=True))
        assert points == [pytest.approx(point, rel=1e-12) for point in exported.values()]
        assert len(points) > 3


@pytest.mark.slow
@pytest.mark.measures
def test_the_other_dtypes_roofs_are_drawn_once_they_are_measured(lab_page: AppTest) -> None:
    finish(prompt_job()), finish(batch_job()), finish(roofs_job("bfloat16"))
    lab_page.run()
    assert {"measured roofs, float32", "measured roofs, bfloat16"} <= set(traces(lab_page, "roofline-chart"))


def test_a_datasheet_is_laid_over_it_on_request(lab_page: AppTest) -> None:
    lab_page.selectbox("roofline-datasheet-roofs").set_value("v100-sxm2-32gb").run()
    assert "NVIDIA Tesla V100 SXM2 32GB, memory" in traces(lab_page, "roofline-chart")
    assert "no sourced peak in bfloat16" in component(lab_page, "roofline-chart")["caption"]


@pytest.mark.slow
@pytest.mark.parametrize("bandwidth", [0.0, -5e9, float("nan"), float("inf"), 101e12])
def test_absurd_roofs_are_said_and_not_drawn(lab_page: AppTest, bandwidth: float) -> None:
    lab = laboratory()
    assert lab.ceilings is not None
    lab.ceilings = replace(lab.ceilings, bandwidth=bandwidth)
    lab_page.run()
    assert not lab_page.exception
    assert "no roof is drawn" in component(lab_page, "roofline-chart")["caption"]
    assert not [name for name in traces(lab_page, "roofline-chart") if "roof" in name]
    for name in ("Operators", "Modules", "More cores"):
        view(lab_page, name)
        assert not lab_page.exception
    assert "ridge" not in traces(view(lab_page, "Operators"), "operators-chart")


def test_what_the_roofs_left_out_and_their_spread_are_said_beside_them(lab_page: AppTest) -> None:
    lab = laboratory()
    assert lab.ceilings is not None
    finish(prompt_job())
    lab.ceilings = replace(
        lab.ceilings,
        spreads=(Spread("read bandwidth", 6e9, 9e9, 12e9),),
        left_out=("float32 has no fast arithmetic here: 0.600 GFLOP/s.",),
    )
    lab_page.run()
    (told,) = [caption.value for caption in lab_page.caption if caption.value.startswith("float32: ")]
    assert "quartiles: read bandwidth 6.00 GB/s to 12.0 GB/s" in told
    assert "lie 66.7 % apart, so other programs ran meanwhile" in told
    assert told.endswith("float32 has no fast arithmetic here: 0.600 GFLOP/s.")
    assert "measured roofs, float32" in traces(lab_page, "roofline-chart"), "they are roofs all the same"


def test_roofs_that_were_never_measured_are_said(lab_page: AppTest) -> None:
    finish(prompt_job())
    laboratory().ceilings = None
    lab_page.run()
    assert not lab_page.exception
    assert "have not been measured, so none is drawn" in component(lab_page, "roofline-chart")["caption"]
    assert "prefill" in traces(lab_page, "roofline-chart")
    view(lab_page, "Operators")
    assert "no bound is given" in component(lab_page, "operators-table")["caption"]


def test_the_operators_follow_the_shape_the_width_and_the_machine(lab_page: AppTest) -> None:
    view(lab_page, "Operators")
    lab_page.selectbox("operators-model").set_value("llama-3.1-8b").run()
    lab_page.selectbox("operators-roofs").set_value("h100-sxm-80gb").run()
    found = component(lab_page, "operators-table")
    assert found["title"].startswith("Llama-3.1-8B, decode of one token at context 512, batch 1, 16-bit weights")
    assert "9 of 9 operators are memory-bound" in found["caption"]
    assert found["rows"][-1][2] == "15.0 GB"  # weights read: without the input embedding
    choose(lab_page, "operators-llama-3.1-8b-weight-bits", 4)
    assert component(lab_page, "operators-table")["rows"][-1][2] == "3.75 GB"


def test_a_machine_without_a_sourced_peak_gives_no_bound(lab_page: AppTest) -> None:
    view(lab_page, "Operators")
    lab_page.selectbox("operators-roofs").set_value("tpu-v5e").run()
    assert not lab_page.exception
    assert (
        "has no sourced peak in float32, so no bound is given" in component(lab_page, "operators-table")["caption"]
    )


def test_modules_are_measured_on_request_and_explained(lab_page: AppTest) -> None:
    finish(modules_job(64))
    view(lab_page, "Modules")
    lab_page.selectbox("modules-tokens").set_value(64).run()
    assert not lab_page.exception
    assert "Prefill of 64 tokens: norms and the rest" in texts(lab_page)
    names = traces(lab_page, "modules-chart")
    assert {"prefill", "decode", "prefill, estimated", "decode, estimated"} == set(names)


def test_more_cores_are_predicted_first_and_measured_in_turns(
    lab_page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        sweep = finish(cores_job())
    finally:
        torch.set_num_threads(before)
    view(lab_page, "More cores")
    assert not lab_page.exception
    assert "The result is known already" not in texts(lab_page), "this learner has asked to see what is known"
    assert cores.words(by_pass(sweep)) in texts(lab_page)
    names = traces(lab_page, "more-cores-chart")
    assert names == [f"{pass_name(points[1].setting)}, 2 cores" for points in by_pass(sweep)]
    choose(lab_page, "predict-more-cores", "both alike")
    assert "You predicted both alike" in texts(lab_page)
    has_gained = "Neither gains" not in cores.words(by_pass(sweep))
    assert ("Measured here: the prompt" in texts(lab_page)) is has_gained


def test_a_length_beyond_the_context_is_refused_with_a_sentence(lab_page: AppTest) -> None:
    view(lab_page, "Modules")
    lab_page.selectbox("modules-tokens").set_value(1024).run()
    lab_page.button("modules-1024-start").click().run()
    assert "context holds 512 tokens" in texts(lab_page)


def _roofline() -> None:
    from pages.ui.experiments.roofline.roofline import RooflineSettings, roofline  # noqa: PLC0415

    roofline(RooflineSettings(sheet="h100-sxm-80gb", explained="prefill of 512 tokens"), key="there", is_fixed=True)


def _operators() -> None:
    from pages.ui.experiments.roofline.operators import OperatorSettings, operator_table  # noqa: PLC0415

    settings = OperatorSettings("llama-3.1-8b", "prefill", 2048, weight_bits=8, roofs="h100-sxm-80gb")
    operator_table(settings, key="there", is_fixed=True)


def _modules() -> None:
    from pages.ui.experiments.roofline.modules import ModuleSettings, module_times  # noqa: PLC0415

    module_times(ModuleSettings(num_tokens=32), key="there", is_fixed=True)


@pytest.mark.parametrize("script", [_roofline, _operators, _modules])
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    lab_page: AppTest, script: Callable[[], None]
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-chart")["title"]
    assert not [*placed.selectbox, *placed.number_input, *placed.select_slider, *placed.button_group]


def test_fixed_settings_are_the_ones_shown(lab_page: AppTest) -> None:
    placed = AppTest.from_function(_operators, default_timeout=20).run()
    title = component(placed, "there-table")["title"]
    assert title == "Llama-3.1-8B, prefill of 2,048 tokens, batch 1, 8-bit weights: estimated"


def test_the_lab_waits_for_the_model_in_words(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = laboratory()
    monkeypatch.setattr(lab, "engine", None)
    monkeypatch.setattr(lab, "experiments", None)
    for script in (_roofline, _operators, _modules):
        placed = AppTest.from_function(script, default_timeout=20).run()
        assert not placed.exception
    assert state.laboratory().status.sentence in texts(placed)
