"""Growth, score matrix and blocks: charts, views, and each experiment placed on an empty page."""

import math
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from inference.catalogue import hardware, models
from inference.kv_cache.growth import MOST_TOKENS
from inference.kv_cache.paged import Conversation, layout
from inference.run.recipe import Recipe
from pages.charts import palette
from pages.charts.kv_cache.blocks import blocks
from pages.charts.kv_cache.growth import cache_growth
from pages.charts.kv_cache.scores import score_matrix
from pages.ui.form import EXAMPLES
from tests.pages.labs import choose, component, figure, laboratory, run_of

pytestmark = pytest.mark.slow  # a whole lab, view after view

MODELS = models()
LLAMA_8B = MODELS["llama-3.1-8b"]
OWN, OTHER = "ab" * 16, "cd" * 16
PATIENCE_S = 30


def shown(app: AppTest, key: str) -> list[str]:
    """The values on a card."""
    return [part["value"] for part in component(app, key)["figures"]]


def labels(app: AppTest, key: str) -> list[str]:
    return [note["text"] for note in figure(app, key)["layout"]["annotations"]]


# Figures


def test_everything_in_the_growth_chart_is_dashed_and_the_crossing_is_marked() -> None:
    chart = cache_growth(LLAMA_8B, batch_size=1, context_len=131_072)
    assert all(trace.line.dash in {"dash", "dot"} for trace in chart.data if trace.mode == "lines")
    (mark,) = [trace for trace in chart.data if trace.name == "crossing"]
    assert (round(mark.x[0]), mark.y[0]) == (122_532, LLAMA_8B.weight_bytes)
    (curve,) = [trace for trace in chart.data if trace.name == "KV cache" and len(trace.x) > 1]
    assert (curve.x[-1], curve.y[-1]) == (131_072, 131_072 * 131_072)


def test_beyond_the_models_own_context_the_curve_is_dotted_from_a_mark_on() -> None:
    chart = cache_growth(MODELS["llama-2-7b"], batch_size=1, context_len=131_072)
    own, beyond = [trace for trace in chart.data if trace.name == "KV cache"]
    assert own.x[-1] == beyond.x[0] == 4096
    assert (own.line.dash, beyond.line.dash) == ("dash", "dot")
    assert [shape.x0 for shape in chart.layout.shapes] == [4096]
    assert "the model's own 4,096" in [note.text for note in chart.layout.annotations]


def test_a_window_bends_the_curve_where_it_is_full() -> None:
    own = cache_growth(MODELS["gpt-oss-20b"], batch_size=1, context_len=131_072).data[0]
    size = dict(zip(own.x.tolist(), own.y.tolist(), strict=True))
    assert size[128] == 128 * 49_152  # 24 layers of 2,048 bytes
    assert size[131_072] == 12 * 2048 * (131_072 + 128)


def test_curves_that_do_not_meet_have_no_crossing() -> None:
    for model, batch_size in (("mistral-7b-v0.1", 1), ("deepseek-v3", 1), ("llama-3.1-8b", 1_000_000)):
        chart = cache_growth(MODELS[model], batch_size=batch_size, context_len=131_072)
        assert "crossing" not in [trace.name for trace in chart.data]


SHAPES = ("llama-3.1-8b", "gemma-3-27b", "mistral-7b-v0.1", "deepseek-v3")  # full, some and all windows, latent


@pytest.mark.parametrize("context_len", [1, 2, 3, 100, MOST_TOKENS])
@pytest.mark.parametrize("model", SHAPES)
def test_any_context_of_any_kind_of_model_can_be_drawn(model: str, context_len: int) -> None:
    for chart in (
        cache_growth(MODELS[model], batch_size=3, context_len=context_len, free_bytes=1e9, machine="A"),
        score_matrix(MODELS[model], num_tokens=context_len),
    ):
        for axis in (chart.layout.xaxis, chart.layout.yaxis):
            assert axis.range[0] < axis.range[1]
            assert all(math.isfinite(tick) for tick in axis.tickvals)


def test_scores_grow_with_the_square_and_the_cache_with_the_length() -> None:
    chart = score_matrix(MODELS["llama-2-7b"], num_tokens=4096)
    curves = {trace.name: trace for trace in chart.data}
    assert all(trace.line.dash == "dash" for trace in chart.data if trace.mode == "lines")
    growth = {name: one.y[-1] / one.y[0] for name, one in curves.items() if name != "crossing"}
    assert growth == {
        "scores, all heads and layers, if stored": 1024**2,
        "KV cache": 1024,
        "one head's scores": 1024**2,
        "one row, in decode": 1024,
    }
    assert curves["KV cache"].y[-1] == 2 * 1024**3
    assert curves["crossing"].x[0] == 257


def test_a_strip_shows_what_is_held_empty_shared_and_reserved() -> None:
    pair = [Conversation("yours", 40, 50, 100), Conversation("learner 2", 45, 47, 109, same_as=0, same_tokens=39)]
    chart = blocks(layout(pair, block_size=16))
    bars = {trace.name: trace for trace in chart.data if trace.type == "bar"}
    assert (bars["written by prefill"].base, bars["written by prefill"].x) == ((0, 32), (40, 13))
    assert (bars["written by decode"].base, bars["written by decode"].x) == ((40, 45), (10, 2))
    assert bars["written by prefill"].marker.color == palette.PREFILL
    spans = {(shape.x0, shape.x1, bool(shape.line.dash)) for shape in chart.layout.shapes}
    assert spans == {(64, 100, True), (48, 109, True), (0, 32, False), (50, 64, False), (47, 48, False)}
    (numbers,) = [trace for trace in chart.data if trace.name == "physical block"]
    assert numbers.text == ("0", "1", "2", "4", "0", "1", "3")


def test_examples_are_grey_and_many_small_blocks_have_no_numbers() -> None:
    chart = blocks(layout([Conversation("example 1", 200, 300, 400, is_example=True)], block_size=1))
    filled = {trace.name: len(trace.x) for trace in chart.data if trace.type == "bar"}
    assert filled == {"written by prefill": 0, "written by decode": 0, "example": 1}
    assert {trace.name for trace in chart.data} == set(filled)
    assert not blocks(layout([])).data


# Views


@pytest.fixture
def lab_page(app: AppTest) -> Iterator[AppTest]:
    """The lab for a learner whom nobody has run before."""
    runs = laboratory().runs
    assert runs is not None
    for name, _ in runs.newest():
        runs.forget(name)
    app.session_state["learner"] = OWN
    app.run()
    app.switch_page("../lab/kv_cache.py")
    yield app.run()
    for name, _ in runs.newest():
        runs.forget(name)


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "kv-lab-view", name)


def start(learner: str, prompt: str) -> None:
    runs = laboratory().runs
    assert runs is not None
    runs.start(learner, Recipe(prompt=prompt)).result(PATIENCE_S)


def test_growth_answers_with_the_published_numbers_of_the_8b(lab_page: AppTest) -> None:
    view(lab_page, "Growth")
    assert not lab_page.exception
    assert shown(lab_page, "growth-numbers") == ["17.2 GB", "122,532", "1", "3", "487,819"]
    assert "122,532 tokens" in labels(lab_page, "growth-chart")
    assert "estimated" in component(lab_page, "growth-chart")["caption"]
    lab_page.number_input("growth-context").set_value(32_768)
    lab_page.number_input("growth-batch").set_value(4).run()
    assert shown(lab_page, "growth-numbers")[:3] == ["17.2 GB", "30,633", "4"]  # 122,532 / 4
    lab_page.selectbox("growth-weight-bits").set_value(4).run()
    assert shown(lab_page, "growth-numbers")[2] == "1"
    assert "leave the embedding and the LM head in 16" in component(lab_page, "growth-numbers")["sentence"]


def test_growth_names_the_rule_of_each_kind_of_attention(lab_page: AppTest) -> None:
    view(lab_page, "Growth")
    for model, words in {
        "llama-3.1-8b": "Every layer keeps every token",
        "gemma-3-27b": "52 of 62 layers keep their last 1,024 tokens only",
        "deepseek-v3": "MLA keeps one latent vector per layer",
        "mistral-7b-v0.1": "Every layer keeps its last 4,096 tokens only",
    }.items():
        lab_page.selectbox("growth-model").set_value(model).run()
        assert words in component(lab_page, "growth-numbers")["sentence"]
    assert shown(lab_page, "growth-numbers")[1] == "never"
    assert "own context ends at 32,768 tokens" in component(lab_page, "growth-numbers")["sentence"]


def test_weights_that_do_not_fit_are_said_to_need_several_accelerators(lab_page: AppTest) -> None:
    view(lab_page, "Growth")
    lab_page.selectbox("growth-model").set_value("llama-3.1-70b").run()
    assert "The weights alone, 141 GB, do not fit in" in component(lab_page, "growth-numbers")["sentence"]
    assert shown(lab_page, "growth-numbers")[3:] == ["0", "0"]


def test_fields_take_no_context_and_no_batch_that_nobody_has(lab_page: AppTest) -> None:
    for name, key in (("Growth", "growth-context"), ("Growth", "growth-batch"), ("Score matrix", "scores-tokens")):
        view(lab_page, name)
        field = lab_page.number_input(key)
        assert field.min == 1
        assert field.max in {MOST_TOKENS, 1_000_000}
    view(lab_page, "Blocks")
    field = lab_page.number_input("blocks-tokens-a-block")
    assert (field.value, field.min, field.max) == (16, 1, 256)


def test_the_score_matrix_of_4096_tokens(lab_page: AppTest) -> None:
    view(lab_page, "Score matrix")
    assert not lab_page.exception
    assert shown(lab_page, "scores-numbers") == ["33.6 MB", "34.4 GB", "2.15 GB", "8.19 kB"]
    about = [part["label"] for part in component(lab_page, "scores-numbers")["figures"]]
    assert "16.0 caches" in about[1]
    sentence = component(lab_page, "scores-numbers")["sentence"]
    for fact in ("temporary", "is masked", "never write it to memory"):
        assert fact in sentence


def test_blocks_without_runs_are_labelled_examples(lab_page: AppTest) -> None:
    view(lab_page, "Blocks")
    assert not lab_page.exception
    assert figure(lab_page, "blocks-chart")["layout"]["yaxis"]["ticktext"] == [
        "example 1",
        "example 2",
        "example 3",
    ]
    assert "no live run, 3 made-up examples" in component(lab_page, "blocks-chart")["caption"]
    # prompts of 60, 69 and 82 with 5, 30 and 51 generated: 5, 7 and 9 blocks, of which 2 and 2 are shared
    assert shown(lab_page, "blocks-numbers")[0] == "17"
    assert len(shown(lab_page, "blocks-numbers")) == 3
    lab_page.number_input("blocks-equal-beginning").set_value(4096).run()
    assert not lab_page.exception


def test_blocks_of_two_learners_need_no_examples_and_show_no_text(app: AppTest, lab_page: AppTest) -> None:
    start(OTHER, "the other's secret words")
    run_of(app, EXAMPLES["The lighthouse"], num_steps=3)
    view(lab_page, "Blocks")
    assert not lab_page.exception
    drawn = component(lab_page, "blocks-chart")
    assert figure(lab_page, "blocks-chart")["layout"]["yaxis"]["ticktext"] == ["yours", "learner 2"]
    assert "secret" not in str(drawn)
    assert not [field for field in lab_page.number_input if field.key == "blocks-equal-beginning"]
    num_tokens = len(EXAMPLES["The lighthouse"]) + 2 + len("the other's secret words")  # a token a byte
    assert component(lab_page, "blocks-numbers")["figures"][-1] == {
        "value": f"{num_tokens * 256 / 1e3:.1f} kB",
        "label": "held by 2 live, measured",
        "hint": "",
    }


def test_learners_with_the_same_example_share_its_full_blocks(app: AppTest, lab_page: AppTest) -> None:
    prompt = EXAMPLES["The lighthouse"]
    start(OTHER, prompt)
    run_of(app, prompt, num_steps=1)
    view(lab_page, "Blocks")
    lab_page.number_input("blocks-tokens-a-block").set_value(10).run()
    (first, *_) = component(lab_page, "blocks-numbers")["figures"]
    assert first["label"] == f"physical blocks; sharing saves {len(prompt) // 10}"


# Placed anywhere


def _growth() -> None:
    from pages.ui.experiments.kv_cache.growth import GrowthSettings, cache_growth  # noqa: PLC0415

    cache_growth(GrowthSettings("gemma-3-27b", context_len=65_536, batch_size=10), key="there", is_fixed=True)


def _scores() -> None:
    from pages.ui.experiments.kv_cache.scores import ScoresSettings, score_matrix  # noqa: PLC0415

    score_matrix(ScoresSettings("llama-3.1-8b", num_tokens=131_072), key="there", is_fixed=True)


def _blocks() -> None:
    from pages.ui.experiments.kv_cache.blocks import BlocksSettings, paged_blocks  # noqa: PLC0415

    paged_blocks(BlocksSettings(block_size=32, prompt_tokens=100, same_tokens=96), key="there", is_fixed=True)


@pytest.mark.parametrize("script", [_growth, _scores, _blocks])
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None]
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-chart")["title"]
    assert component(placed, "there-numbers")["figures"]
    assert not [*placed.selectbox, *placed.number_input, *placed.select_slider, *placed.button_group]


def _growth_controls() -> None:
    from pages.ui.experiments.kv_cache.growth import cache_growth  # noqa: PLC0415

    cache_growth(key="there")


def _scores_controls() -> None:
    from pages.ui.experiments.kv_cache.scores import score_matrix  # noqa: PLC0415

    score_matrix(key="there")


def _blocks_controls() -> None:
    from pages.ui.experiments.kv_cache.blocks import paged_blocks  # noqa: PLC0415

    paged_blocks(key="there")


@pytest.mark.parametrize(
    ("script", "field", "value"),
    [
        (_growth_controls, "there-context", 4096),
        (_scores_controls, "there-tokens", 512),
        (_blocks_controls, "there-tokens-a-block", 1),
    ],
)
def test_an_experiment_stands_on_an_empty_page_with_controls(
    app: AppTest, script: Callable[[], None], field: str, value: int
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    before = shown(placed, "there-numbers")
    placed.number_input(field).set_value(value).run()
    assert not placed.exception
    assert shown(placed, "there-numbers") != before


def test_every_accelerator_with_a_fixed_memory_is_on_offer(lab_page: AppTest) -> None:
    view(lab_page, "Growth")
    offered = lab_page.selectbox("growth-accelerator").options
    assert offered == [one.name for one in hardware().values() if one.memory_bytes]
