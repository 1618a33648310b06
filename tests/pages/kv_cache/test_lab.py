"""The KV cache lab without a browser: its views, its measurements, and each experiment placed anywhere."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from inference.arithmetic.units import significant
from inference.catalogue import models
from inference.kv_cache.agreement import agreement_job
from inference.kv_cache.recompute import LENGTHS, lengths_to, pairs, ratio, recompute_job
from inference.kv_cache.tensors import measured_cache_job
from pages.ui import state
from tests.pages.labs import choose, component, figure, finish, laboratory, open_lab, run_of, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view

VIEWS = ("With and without", "Same answer", "Formula", "Map")


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    return open_lab(app, "kv_cache")


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "kv-lab-view", name)


def bars(app: AppTest) -> list[tuple[str, str]]:
    """Label and text of each bar of the formula view."""
    drawn = figure(app, "formulas-chart")["layout"]
    names = [name.replace("<br>", " ") for name in drawn["yaxis"]["ticktext"]]
    return list(zip(names, [note["text"] for note in drawn["annotations"]], strict=True))


def test_the_lab_opens_with_a_prediction_and_at_most_one_primary_button(lab_page: AppTest) -> None:
    assert any("How much longer does one token take then" in markdown.value for markdown in lab_page.markdown)
    for name in VIEWS:
        view(lab_page, name)
        assert not lab_page.exception
        assert sum(button.proto.type == "primary" for button in lab_page.button) <= 1


def test_the_sweep_is_asked_for_with_a_button_and_answers_the_prediction(lab_page: AppTest) -> None:
    choose(lab_page, "predict-recompute", "over 100 times")
    sweep = finish(recompute_job())
    lab_page.run()
    assert not lab_page.exception
    found = pairs(sweep)
    words = texts(lab_page)
    assert f"Measured here: {significant(ratio(found[-1]))} times, for 512 times the tokens." in words
    assert f"{significant(ratio(found[0]))} times as long at 16 tokens" in words
    assert "The arms " in words
    assert [trace["name"] for trace in figure(lab_page, "recompute-time")["data"]] == [
        "with cache",
        "without cache",
    ]


def test_work_follows_the_counts_and_needs_no_measurement(lab_page: AppTest) -> None:
    assert "417 times as many" in component(lab_page, "recompute-work")["caption"]
    labels = [note["text"] for note in figure(lab_page, "recompute-work")["layout"]["annotations"]]
    assert labels == ["with cache: 1,499", "without cache: 624,750"]
    lab_page.number_input("recompute-prompt--counted").set_value(8000)
    lab_page.number_input("recompute-new-tokens--counted").set_value(1000).run()
    labels = [note["text"] for note in figure(lab_page, "recompute-work")["layout"]["annotations"]]
    assert labels == ["with cache: 8,999", "without cache: 8,499,500"]


def test_a_length_beyond_the_context_is_refused_with_the_numbers(lab_page: AppTest) -> None:
    lab_page.number_input("recompute-longest-context-timed").set_value(600).run()
    lab_page.button("recompute-start").click().run()
    assert "This sweep reaches 600 tokens, the model's context holds 512" in texts(lab_page)
    view(lab_page, "Formula")
    lab_page.number_input("formulas-tokens-in-the-cache").set_value(513).run()
    lab_page.button("formulas-start").click().run()
    assert "A cache of 513 tokens cannot be filled: the model's context holds 512" in texts(lab_page)


def test_lengths_double_up_to_the_longest() -> None:
    assert LENGTHS == (16, 32, 64, 128, 256, 512, 1024)
    assert lengths_to(600) == (16, 32, 64, 128, 256, 512, 600)
    assert lengths_to(16) == (16,)


def test_the_answers_are_compared_per_dtype(lab_page: AppTest) -> None:
    found = finish(agreement_job())
    view(lab_page, "Same answer")
    assert not lab_page.exception
    for one in found.dtypes:
        shown = component(lab_page, f"agreement-{one.dtype}")
        assert shown["kicker"] == one.dtype
        assert [part["value"] for part in shown["figures"]] == [significant(one.largest), "none"]


def test_the_formulas_of_the_running_model_wait_for_a_measurement_and_then_agree(lab_page: AppTest) -> None:
    view(lab_page, "Formula")
    lab_page.number_input("formulas-tokens-in-the-cache").set_value(300).run()
    # tiny: 2 layers, 4 query heads, 2 KV heads of 8, 4 bytes: 256 bytes a token
    assert bars(lab_page) == [
        ("tensors, measured", "not measured yet"),
        ("KV heads, formula", "76.8 kB"),
        ("query heads, formula", "154 kB<br>2.00 times"),
        ("hidden width, formula", "154 kB<br>2.00 times"),
    ]
    assert finish(measured_cache_job(300)).kv_bytes == 300 * 256
    lab_page.run()
    assert bars(lab_page)[0] == ("tensors, measured", "76.8 kB")


def test_the_learners_own_run_is_what_is_measured_where_there_is_one(app: AppTest) -> None:
    run_of(app, "x" * 40, num_steps=5)
    app.run()
    app.switch_page("../lab/kv_cache.py")
    view(app.run(), "Formula")
    assert app.number_input("formulas-tokens-in-the-cache").value == 44
    assert "Measured in your own run: the tensors of its KV cache after step 5." in texts(app)
    assert bars(app)[0] == ("tensors, measured", "11.3 kB")  # 44 x 256 bytes
    app.number_input("formulas-tokens-in-the-cache").set_value(41).run()
    assert "after step 2" in texts(app)


@pytest.mark.parametrize(
    ("model", "factors", "words"),
    [
        ("llama-3.1-8b", ["right", "4.00 times", "4.00 times"], "32 query heads share 8 KV heads (GQA)"),
        ("llama-2-7b", ["right", "right", "right"], "Every query head has a KV head of its own (MHA)"),
        ("gemma-3-270m", ["right", "4.00 times", "2.50 times"], "4 query heads share one KV head (MQA)"),
        ("qwen3-0.6b", ["right", "2.00 times", "right"], "by accident: the KV heads together are as wide"),
        ("deepseek-v3", ["right", "71.1 times", "24.9 times"], "serve all 128 heads (MLA)"),
    ],
)
def test_a_catalogue_model_is_shown_by_formula(
    lab_page: AppTest, model: str, factors: list[str], words: str
) -> None:
    view(lab_page, "Formula")
    lab_page.selectbox("formulas-model").set_value(model).run()
    assert not lab_page.exception
    assert words in texts(lab_page)
    assert len(bars(lab_page)) == 3
    assert [line[1] for line in component(lab_page, "formulas-table")["rows"]] == factors


def test_a_window_that_is_full_and_a_context_that_is_too_long_are_said(lab_page: AppTest) -> None:
    view(lab_page, "Formula")
    lab_page.selectbox("formulas-model").set_value("gpt-oss-20b")
    lab_page.number_input("formulas-tokens-in-the-cache").set_value(262_144).run()
    assert "Counting the sliding layers in full here would be a third mistake: 2.00 times" in texts(lab_page)
    assert "The model's own context ends at 131,072 tokens." in texts(lab_page)


def test_without_a_run_the_map_leads_to_one(lab_page: AppTest) -> None:
    view(lab_page, "Map")
    assert "There is no run of yours yet" in texts(lab_page)
    lab_page.button("norms-go").click().run()
    assert lab_page.title[0].value == "Step through a generation"


def test_the_map_shows_the_keys_or_the_values_of_the_learners_run(app: AppTest) -> None:
    run_of(app, "y" * 30, num_steps=4)
    app.run()
    app.switch_page("../lab/kv_cache.py")
    view(app.run(), "Map")
    drawn = {}
    for kind in ("keys", "values"):
        choose(app, "norms-norms-of", kind)
        assert not app.exception
        caption = component(app, "norms-chart")["caption"]
        assert f"norms of the {kind}" in caption
        assert "prefill wrote 30 columns at once, decode 3 one by one" in caption
        drawn[kind] = figure(app, "norms-chart")["data"]
        assert [trace["name"] for trace in drawn[kind]] == ["prefill", "decode"]
    assert drawn["keys"][0]["z"] != drawn["values"][0]["z"]


def test_a_cache_that_was_given_up_is_said_and_its_keys_stay(app: AppTest) -> None:
    run_of(app, "z" * 30, num_steps=2)
    runs = laboratory().runs
    assert runs is not None
    run = runs.get("ab" * 16)
    assert run is not None
    run.generation.release_cache()
    app.run()
    app.switch_page("../lab/kv_cache.py")
    view(app.run(), "Map")
    assert len(figure(app, "norms-chart")["data"]) == 2
    choose(app, "norms-norms-of", "values")
    assert "This run's cache was given up for memory" in texts(app)
    assert not figure(app, "norms-chart")["data"]


def test_formulas_of_every_catalogue_model_can_be_drawn(lab_page: AppTest) -> None:
    view(lab_page, "Formula")
    for model in models():
        lab_page.selectbox("formulas-model").set_value(model).run()
        assert not lab_page.exception, model


def _recompute() -> None:
    from pages.ui.experiments.kv_cache.recompute import RecomputeSettings, with_and_without  # noqa: PLC0415

    with_and_without(RecomputeSettings(longest=64, prompt_tokens=10, new_tokens=20), key="there", is_fixed=True)


def _agreement() -> None:
    from pages.ui.experiments.kv_cache.agreement import AgreementSettings, agreement  # noqa: PLC0415

    agreement(AgreementSettings(num_tokens=8), key="there", is_fixed=True)


def _formulas() -> None:
    from pages.ui.experiments.kv_cache.kv_formulas import KvFormulasSettings, kv_formulas  # noqa: PLC0415

    kv_formulas(KvFormulasSettings("llama-3.1-8b", context_len=8192), key="there", is_fixed=True)


def _norms() -> None:
    from pages.ui.experiments.kv_cache.cache_norms import CacheNormsSettings, cache_norms  # noqa: PLC0415

    cache_norms(CacheNormsSettings(of="values"), key="there", is_fixed=True)


@pytest.mark.parametrize(
    ("script", "chart"),
    [(_recompute, "time"), (_recompute, "work"), (_agreement, "chart"), (_formulas, "chart"), (_norms, "chart")],
)
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None], chart: str
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, f"there-{chart}")["title"]
    assert not [*placed.selectbox, *placed.number_input, *placed.select_slider, *placed.button_group]


def test_a_placed_experiment_measures_what_its_settings_say(app: AppTest) -> None:
    finish(recompute_job(lengths_to(64)))
    placed = AppTest.from_function(_recompute, default_timeout=20).run()
    (with_cache, _) = figure(placed, "there-time")["data"]
    assert len(with_cache["hovertext"]) == 3  # 16, 32, 64
    assert "times as long at 64 tokens" in texts(placed)


def test_a_prediction_outlives_the_server(lab_page: AppTest) -> None:
    choose(lab_page, "predict-recompute", "over 100 times")
    assert "You predicted over 100 times" in texts(lab_page)
    state._guesses.clear()  # what the server held in memory
    lab_page.session_state["tab"].drawing.remembered.clear()  # a new tab reads the database
    lab_page.run()
    assert "You predicted over 100 times" in texts(lab_page)
