"""The sampling lab: its views and numbers, a learner's own run, bad input, each experiment on an empty page."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from inference.run.params import SamplingParams
from inference.sampling import stages
from inference.sampling_lab.next_token import prompt_job
from pages.ui.experiments.sampling.sampler import PROMPTS, RUN, TYPED
from tests.pages.labs import choose, component, figure, finish, laboratory, open_lab, run_of, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view

NASTY = "<script>alert(1)</script> ![x](http://127.0.0.1:9/x.png) $a^2$ :red[x]"


@pytest.fixture
def sampling(app: AppTest) -> AppTest:
    return open_lab(app, "sampling")


def _chain_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.sampling.chain import ChainSettings, chain  # noqa: PLC0415

    state.restore()
    settings = ChainSettings("The capital of France is", 1.0, 3, 1.0, biased_token="17", bias=100, shown="top-k")
    chain(settings, key="alone", is_fixed=True)


def _order_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.sampling.order import OrderSettings, order  # noqa: PLC0415

    state.restore()
    order(OrderSettings(temperature=0.1, top_k=0, top_p=0.5), key="alone", is_fixed=True)


def _draws_alone() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.sampling.draws import DrawsSettings, draws  # noqa: PLC0415

    state.restore()
    draws(DrawsSettings(num_draws=100, seed=3), key="alone", is_fixed=True)


def rows(app: AppTest, key: str = "sampling-table") -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in component(app, key)["rows"]}


def names(app: AppTest, key: str) -> list[str]:
    return [trace["name"] for trace in figure(app, key)["data"]]


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "sampling-lab-view", name)


def test_the_lab_shows_every_stage_at_once_and_needs_no_button(sampling: AppTest) -> None:
    assert not sampling.exception
    assert not [button for button in sampling.button if button.proto.type == "primary"]
    assert list(rows(sampling)) == [
        *("model", "logit bias", "repetition penalty", "temperature", "top-k", "top-p", "min-p"),
        "renormalised top-10",
    ]
    assert names(sampling, "sampling-curve") == ["model", "after top-p"]


def test_the_stages_are_those_of_the_sampler_on_the_same_logits(sampling: AppTest) -> None:
    logits = finish(prompt_job(PROMPTS["A story begins"])).logits
    chain = {stage.name: stage for stage in stages(logits, SamplingParams(0.7, top_k=50, top_p=0.9))}
    mass = float(torch.softmax(logits, -1)[torch.isfinite(chain["top-p"].logits)].sum())
    shown = rows(sampling)
    assert shown["model"][0] == "320"
    assert shown["top-k"][0] == "50"
    assert shown["top-p"][:2] == [str(chain["top-p"].num_kept), f"{mass * 100:.1f} %"]
    assert shown["min-p"] == ["off", "", ""]
    assert shown["renormalised top-10"][0] == "10"


def test_the_prediction_is_kept_beside_what_top_p_keeps(sampling: AppTest) -> None:
    choose(sampling, "predict-sampling-top-p", "fewer than 10")
    logits = finish(prompt_job(PROMPTS["A story begins"])).logits
    kept = stages(logits, SamplingParams(1.0, top_p=0.9))[-1].num_kept
    assert f"You predicted fewer than 10; it is 100 to 1,000. {kept} of 320 tokens" in texts(sampling)


def test_a_changed_setting_runs_no_pass(sampling: AppTest) -> None:
    engine = laboratory().engine
    assert engine is not None
    passes: list[int] = []

    def count(module: Any, args: Any, output: Any) -> None:
        passes.append(1)

    handle = engine.model.register_forward_hook(count)
    try:
        sampling.slider("sampling-min-p").set_value(0.5).run()
        sampling.select_slider("sampling-top-k").set_value(3).run()
        choose(sampling, "sampling-distribution-after", "min-p")
    finally:
        handle.remove()
    assert passes == []
    assert rows(sampling)["top-k"][0] == "3"
    assert names(sampling, "sampling-curve") == ["model", "after min-p"]


def test_a_chart_of_ten_claims_more_than_the_model_gives(sampling: AppTest) -> None:
    choose(sampling, "sampling-distribution-after", "renormalised top-10")
    wide, narrow = figure(sampling, "sampling-top")["data"]
    assert component(sampling, "sampling-top")["title"] == "The best tokens, model and renormalised top-10"
    assert len(wide["hovertext"]) == len(narrow["hovertext"]) == 10
    assert "A chart of only the ten best tokens that makes them sum to 100 % would claim" in texts(sampling)


def test_temperature_last_moves_it_behind_the_cuts(sampling: AppTest) -> None:
    choose(sampling, "sampling-temperature-is", "last")
    assert list(rows(sampling))[-2] == "temperature"


def test_temperature_zero_is_greedy_and_keeps_one_token(sampling: AppTest) -> None:
    sampling.slider("sampling-temperature").set_value(0.0).run()
    assert not sampling.exception
    assert rows(sampling)["temperature"][::2] == ["1", "0 bits"]


def test_a_bias_is_laid_on_a_token_by_its_text_and_a_wrong_one_is_said(sampling: AppTest) -> None:
    sampling.number_input("sampling-logit-bias").set_value(100)
    sampling.text_input("sampling-bias-a-token--by-text-or-id").set_value("Z").run()
    assert "This seed draws Z," in texts(sampling)
    sampling.text_input("sampling-bias-a-token--by-text-or-id").set_value("Zebra").run()
    assert "'Zebra' is 5 tokens; a bias is for one" in texts(sampling)
    sampling.text_input("sampling-bias-a-token--by-text-or-id").set_value("99999").run()
    assert not sampling.exception
    assert "the vocabulary ends at 319" in texts(sampling)
    assert rows(sampling)["logit bias"] == ["off", "", ""]


def test_the_prompt_may_be_typed_here_and_a_bad_one_is_refused_in_words(sampling: AppTest) -> None:
    sampling.selectbox("sampling-next-token-after").set_value(TYPED).run()
    for prompt, told in (("", "prompt is empty"), ("a" * 600, "600 tokens, the model's context holds 512")):
        sampling.text_input("sampling-prompt").set_value(prompt).run()
        assert not sampling.exception
        assert told in texts(sampling)
        assert rows(sampling) == {}
    sampling.text_input("sampling-prompt").set_value("A good one").run()
    assert len(rows(sampling)) == 8


@pytest.mark.parametrize("name", ["Stages", "Order", "Draws"])
def test_markup_in_prompt_and_tokens_stays_text(sampling: AppTest, name: str) -> None:
    view(sampling, name)
    sampling.selectbox("sampling-next-token-after").set_value(TYPED).run()
    sampling.text_input("sampling-prompt").set_value(NASTY)
    sampling.text_input("sampling-bias-a-token--by-text-or-id").set_value("<")
    sampling.number_input("sampling-logit-bias").set_value(100).run()
    assert not sampling.exception
    for element in (*sampling.markdown, *sampling.caption):
        assert "<" not in element.value
        assert "127.0.0.1:9" not in element.value


@pytest.mark.parametrize(("name", "key"), [("Stages", "sampling-top"), ("Draws", "sampling-counts")])
def test_a_token_that_spells_a_tag_is_escaped_for_plotly(sampling: AppTest, name: str, key: str) -> None:
    view(sampling, name)
    sampling.text_input("sampling-bias-a-token--by-text-or-id").set_value("<")
    sampling.number_input("sampling-logit-bias").set_value(100).run()
    drawn = figure(sampling, key)
    assert drawn["layout"]["yaxis"]["ticktext"][0] == "&lt;"
    assert drawn["data"][0]["hovertext"][0].startswith("&lt;")


def test_the_learners_own_step_is_the_one_on_the_main_screen(sampling: AppTest) -> None:
    sampling.selectbox("sampling-next-token-after").set_value(RUN).run()
    assert "There is no run of yours yet" in texts(sampling)
    run_of(sampling, "Some words", 4)
    sampling.slider("sampling-temperature").set_value(0.0).run()
    assert not sampling.exception
    run = laboratory().runs.get("ab" * 16)  # type: ignore[union-attr]
    assert run is not None
    newest = run.trace.steps[-1]
    best = component(sampling, "sampling-top")
    hover = figure(sampling, "sampling-top")["data"][0]["hovertext"][0]
    assert f"(id {newest.token_id}, rank 1)" in hover, "greedy here draws what the greedy run chose there"
    assert best["title"]
    assert "your run, step 4" in sampling.selectbox("sampling-next-token-after").options


def test_the_order_view_compares_the_sets_and_works_the_example_out(sampling: AppTest) -> None:
    view(sampling, "Order")
    assert not sampling.exception
    assert component(sampling, "sampling-example")["title"] == "By hand: logits 3, 2, 1, temperature 0.5, top-p 0.8"
    assert component(sampling, "sampling-example")["rows"] == [
        ["A", "3", "86.7 %", "kept", "66.5 %", "kept"],
        ["B", "2", "11.7 %", "cut", "24.5 %", "kept"],
        ["C", "1", "1.6 %", "cut", "9.0 %", "cut"],
    ]
    sampling.select_slider("sampling-top-k").set_value(0)
    sampling.slider("sampling-temperature").set_value(0.1)
    sampling.slider("sampling-top-p").set_value(0.5).run()
    logits = finish(prompt_job(PROMPTS["A story begins"])).logits
    first, last = (
        stages(logits, SamplingParams(0.1, top_p=0.5, temperature_last=is_last))[-1].num_kept
        for is_last in (False, True)
    )
    assert first < last
    assert f"Only temperature last keeps {last - first:,} of them" in texts(sampling)
    assert {row[3] for row in component(sampling, "sampling-only")["rows"]} == {"last"}


def test_a_temperature_of_one_makes_the_orders_the_same_and_says_why(sampling: AppTest) -> None:
    view(sampling, "Order")
    sampling.slider("sampling-temperature").set_value(1.0).run()
    assert "The sets are the same here: a temperature of 1 changes nothing." in texts(sampling)


def test_draws_repeat_with_their_seed_and_fail_against_another_distribution(sampling: AppTest) -> None:
    view(sampling, "Draws")
    first = component(sampling, "sampling-counts")["figure"]
    sampling.number_input("sampling-seed").set_value(1).run()
    assert component(sampling, "sampling-counts")["figure"] != first
    sampling.number_input("sampling-seed").set_value(0).run()
    assert component(sampling, "sampling-counts")["figure"] == first
    assert component(sampling, "sampling-counts")["title"] == "1,000 draws with seed 0"
    choose(sampling, "sampling-expected-from", "the model alone")
    assert "two bins" in component(sampling, "sampling-test")["note"], "of 320 flat ones none is expected 5 times"
    choose(sampling, "sampling-draws", 10_000)
    told = component(sampling, "sampling-test")
    assert told["figures"][-1]["value"] == "under 0.001"
    assert "these come from another one" in told["sentence"]


def test_settings_are_shared_by_the_views(sampling: AppTest) -> None:
    sampling.slider("sampling-top-p").set_value(0.3).run()
    view(sampling, "Draws")
    assert sampling.slider("sampling-top-p").value == 0.3


@pytest.mark.parametrize(
    ("script", "chart"), [(_chain_alone, "curve"), (_order_alone, "orders-chart"), (_draws_alone, "counts")]
)
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None], chart: str
) -> None:
    alone = AppTest.from_function(script, default_timeout=20).run()
    assert not alone.exception
    assert figure(alone, f"alone-{chart}")["data"]
    assert not [*alone.slider, *alone.selectbox, *alone.number_input, *alone.select_slider, *alone.button_group]


def test_fixed_settings_are_the_ones_shown(app: AppTest) -> None:
    alone = AppTest.from_function(_chain_alone, default_timeout=20).run()
    assert names(alone, "alone-curve") == ["model", "after top-k"]
    assert rows(alone, "alone-table")["top-k"][0] == "3"
    assert "(id 17, rank" in figure(alone, "alone-top")["data"][0]["hovertext"][0]
    alone = AppTest.from_function(_draws_alone, default_timeout=20).run()
    assert component(alone, "alone-counts")["title"] == "100 draws with seed 3"


def test_the_lab_waits_for_the_model_in_words(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = laboratory()
    monkeypatch.setattr(lab, "engine", None)
    monkeypatch.setattr(lab, "experiments", None)
    for script in (_chain_alone, _order_alone, _draws_alone):
        alone = AppTest.from_function(script, default_timeout=20).run()
        assert not alone.exception
        assert lab.status.sentence in texts(alone)
