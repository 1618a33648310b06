"""The planner's page: answer, form, views, links and what a wrong value costs."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.labs import choose, component, texts

pytestmark = pytest.mark.slow  # a whole page, view after view

CONFIGS = Path(__file__).parents[2] / "inference/planner/own/configs"
VIEWS = (
    *("Time", "Throughput", "Hardware", "Optimisations", "Cache and weights"),
    *("Why not just more GPUs?", "The clock of the layers", "How far off?"),
)


def opened(app: AppTest, query: str = "") -> AppTest:
    """The planner as a link to it opens."""
    for name, value in parse_qsl(query):
        app.query_params[name] = value
    app.run()
    app.switch_page("../plan/planner.py")
    app.run()
    assert not app.exception
    return app


def values(app: AppTest) -> list[str]:
    return [number["value"] for number in component(app, "planner-answer")["numbers"]]


def head(app: AppTest) -> str:
    return str(component(app, "planner-answer")["head"])


def put(app: AppTest, key: str, value: object) -> AppTest:
    app.get_by_key(f"planner-{key}").set_value(value)  # type: ignore[union-attr]
    app.run()
    assert not app.exception
    return app


def link(app: AppTest) -> str:
    return urlsplit(str(app.code[-1].value)).query


@pytest.fixture
def planner(app: AppTest) -> AppTest:
    return opened(app)


def test_the_first_visit_is_the_worked_example(planner: AppTest) -> None:
    assert head(planner) == "Llama-3.1-8B on NVIDIA H100 SXM5 80GB, estimated"
    best = [number["best"] for number in component(planner, "planner-answer")["numbers"]]
    assert best[0] == "at best 30.0 ms"
    assert best[1] == "at best 4.56 ms first, 4.57 ms halfway"
    assert best[2] == "at best 219 tok/s"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_looked_at(planner: AppTest, view: str) -> None:
    choose(planner, "planner-view", view)
    assert not planner.exception


def test_the_table_of_the_cache_is_there_for_the_plans_model(planner: AppTest) -> None:
    choose(planner, "planner-view", "Cache and weights")
    rows = component(planner, "planner-outweigh")["rows"]
    assert rows[0] == ["Llama-3.1-8B", "16.1 GB", "122,532", "30", "15", "4", "2", "1"]
    assert len(rows) > 30


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("prompt_tokens", 0, "Prompt tokens must be from 1 to 10,000,000, got 0"),
        ("prompt_tokens", 131_000, "Llama-3.1-8B takes 131,072. Shorten the prompt or the answer"),
        ("output_tokens", None, "Output tokens must be from 1 to 10,000,000, got 0"),
        ("concurrency", -3, "Conversations must be from 1 to 1,000,000, got -3"),
        ("weight_bits", 0.0, "Weight bits must be from 0.5 to 64 bits, got 0"),
        ("tensor_parallel", 3, "Tensor parallel 3 does not divide Llama-3.1-8B's 32 query heads; choose 1, 2, 4"),
        ("tensor_parallel", 10**9, "Tensor parallel must be from 1 to 4,096"),
        ("price", -1.0, "Price must be from 0 to 10,000"),
        ("hardware", "2x-epyc-9654", "has no sourced peak FLOP/s"),
    ],
)
def test_a_wrong_value_costs_the_numbers_and_nothing_else(
    planner: AppTest, key: str, value: object, told: str
) -> None:
    put(planner, key, value)
    assert told in head(planner)
    assert values(planner) == []
    assert "This view needs a plan" in texts(planner)
    usual = {"prompt_tokens": 2048, "output_tokens": 500, "weight_bits": 16.0, "price": None}.get(key, 1)
    put(planner, key, "h100-sxm-80gb" if key == "hardware" else usual)
    assert len(values(planner)) == 5


def test_a_preset_fills_the_lengths_and_a_changed_length_is_ones_own(planner: AppTest) -> None:
    put(planner, "preset", "chat")
    assert planner.get_by_key("planner-prompt_tokens").value == 1000  # type: ignore[union-attr]
    put(planner, "prompt_tokens", 1001)
    assert planner.get_by_key("planner-preset-1").value == ""  # type: ignore[union-attr]
    put(planner, "preset-1", "chat")
    assert planner.get_by_key("planner-prompt_tokens").value == 1000  # type: ignore[union-attr]


def test_a_changed_share_changes_the_answer_and_goes_back(planner: AppTest) -> None:
    before = values(planner)
    put(planner, "layer_us-serving-h100-sxm-80gb", 0.0)
    assert values(planner) != before
    assert any(
        "efficiency values are your own" in told for told in component(planner, "planner-answer")["warnings"]
    )
    planner.get_by_key("planner-defaults").click()  # type: ignore[union-attr]
    planner.run()
    assert values(planner) == before


def test_a_link_reproduces_a_plan_of_ones_own(app: AppTest, planner: AppTest) -> None:
    put(planner, "model", "numbers")
    put(planner, "num_layers", 40)
    put(planner, "hardware", "own")
    put(planner, "hw_bandwidth_gb_s", 2000.0)
    put(planner, "bandwidth_share-serving-own", 0.7)
    put(planner, "price", 2.0)
    again = opened(AppTest.from_file(str(app._script_path), default_timeout=20), link(planner))
    assert values(again) == values(planner)
    assert link(again) == link(planner)
    put(again, "num_layers", 41)
    assert values(again) != values(planner)


def test_a_pasted_config_and_this_machine_go_into_a_link_as_numbers(app: AppTest, planner: AppTest) -> None:
    put(planner, "model", "pasted")
    assert "Paste the config.json" in head(planner)
    put(planner, "config", '{"model_type": "mamba"}')
    assert "mamba" in head(planner)
    put(planner, "config", (CONFIGS / "qwen2.5-0.5b.json").read_text())
    put(planner, "hardware", "here")
    assert planner.get_by_key("planner-engine").value == "eager"  # type: ignore[union-attr]
    again = opened(AppTest.from_file(str(app._script_path), default_timeout=20), link(planner))
    assert values(again) == values(planner)


def test_a_stale_or_hostile_link_is_told_and_opens_all_the_same(app: AppTest) -> None:
    opened(app, "model=%3Cimg+src%3Dx%3E&hardware=h900&in=-1&e=9&users=1e999&windows=0x9&mla=a")
    told = texts(app)
    assert "Model '<img src=x>' of the link is not known here" in told
    assert "Prompt tokens must be from 1 to 10,000,000, got -1; 2048 is taken" in told
    assert len(values(app)) == 5
    put(app, "prompt_tokens", 100)
    assert "of the link" not in texts(app)


def test_peaks_that_smell_of_sparsity_are_told(planner: AppTest) -> None:
    put(planner, "hardware", "own")
    put(planner, "hw_tflops_16bit", 1979.0)
    assert "it probably counts 2:4 sparsity" in texts(planner)
    put(planner, "hw_tflops_16bit", None)
    assert "of your own hardware is missing" in head(planner)


def test_a_plan_outlives_a_visit_to_another_page(planner: AppTest) -> None:
    put(planner, "model", "numbers")
    put(planner, "num_layers", 40)
    put(planner, "layer_us-serving-h100-sxm-80gb", 50.0)
    before = values(planner)
    planner.switch_page("../learn/glossary.py")
    planner.run()
    planner.switch_page("../plan/planner.py")
    planner.run()
    assert values(planner) == before
