"""The speculative decoding lab without a browser: its views, their numbers, and each experiment placed anywhere."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from inference.arithmetic.units import significant
from inference.speculation.acceptance import expected_tokens
from inference.speculation.draft import LOOK_UP
from inference.speculation.jobs import own_job, speculation_job
from inference.speculation.presets import PRESETS
from inference.speculation.records import NUM_DRAFTED, Repeat, Round, Speculated, SpeculationRequest
from inference.speculation.sampled import draws_job
from inference.speculation.sizes import SIZES, sizes_job
from pages.charts.speculation.rounds import rounds_chart
from pages.charts.speculation.sizes import times_chart, tokens_chart
from pages.ui.experiments.compared import way
from pages.ui.experiments.speculation.text import sameness
from tests.pages.labs import choose, component, figure, finish, laboratory, open_lab, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view

VIEWS = ("Round by round", "k and acceptance", "Sampled")


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    return open_lab(app, "speculative")


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "speculative-lab-view", name)


def heights(app: AppTest, trace: int) -> list[float]:
    """Of the blocks of one kind, as they are drawn."""
    found = figure(app, "speculation-rounds")["data"][trace]["y"]
    return list(found) if isinstance(found, list) else _decoded(found)


def _decoded(array: dict[str, str]) -> list[float]:
    import base64  # noqa: PLC0415

    import numpy as np  # noqa: PLC0415

    return [float(one) for one in np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])]


def test_the_lab_opens_with_a_prediction_and_at_most_one_primary_button(lab_page: AppTest) -> None:
    assert any("How many times as fast as plain decoding" in markdown.value for markdown in lab_page.markdown)
    for name in VIEWS:
        view(lab_page, name)
        assert not lab_page.exception
        assert sum(button.proto.type == "primary" for button in lab_page.button) <= 1


def test_a_run_is_drawn_told_and_answers_the_prediction(lab_page: AppTest) -> None:
    choose(lab_page, "predict-speculation", "over 4 times")
    run = finish(speculation_job("copy"))
    lab_page.run()
    assert not lab_page.exception
    accepted, own, fallen, plain = (heights(lab_page, trace) for trace in range(4))
    assert accepted == [one.num_accepted for one in run.rounds]
    assert own == [one.token_id is not None for one in run.rounds]
    assert fallen == [len(one.drafted) - one.num_accepted for one in run.rounds]
    assert plain == [1] * len(run.repeats[0].plain_s)
    assert sum(accepted) + sum(own) + 1 == len(run.token_ids), "every token stands on one block, but prefill's"
    values = [part["value"] for part in component(lab_page, "speculation-summary")["figures"]]
    assert values[:2] == [f"{significant(run.gain)} times", significant(run.tokens_per_pass)]
    words = texts(lab_page)
    assert f"Measured here: {significant(run.gain)} times" in words
    assert f"took {significant(run.pass_cost)} times a plain step" in words
    assert f"{int(sum(fallen))} of {int(sum(fallen) + sum(accepted))} drafted tokens" in words
    count = len(run.token_ids)
    assert f"Same text as plain greedy decoding, token by token: {count} of {count}" in words
    shown = component(lab_page, "speculation-strip")["tokens"]
    assert [token["phase"] for token in shown].count("accepted") == sum(accepted)
    assert len(shown) == count


def test_the_losing_preset_is_named_so_and_is_sampled(lab_page: AppTest) -> None:
    assert PRESETS["random"].title == "Random digits (loses)"
    run = finish(speculation_job("random"))
    lab_page.selectbox("speculation-text").set_value("random").run()
    assert not lab_page.exception
    assert "Drawn at temperature 1, the text is another" in texts(lab_page)
    assert sum(heights(lab_page, 2)) == sum(len(one.drafted) - one.num_accepted for one in run.rounds)


def test_the_formula_and_the_passes_of_every_k_stand_side_by_side(lab_page: AppTest) -> None:
    found = finish(sizes_job("edit"))
    view(lab_page, "k and acceptance")
    assert not lab_page.exception
    rows = component(lab_page, "sizes-table")["rows"]
    assert [row[0] for row in rows] == [str(size) for size in SIZES]
    for row, run in zip(rows, found.runs, strict=True):
        assert row[2] == significant(expected_tokens(run.acceptance, run.request.num_drafted))
        assert row[3] == significant(run.tokens_per_pass)
        assert row[5] == f"{significant(run.gain)} times"
    best = max(found.runs, key=lambda run: run.gain)
    opening = "The best of these" if way(1, best.gain) == "more" else "None of these gains anything; the best"
    assert f"{opening} is k = {best.request.num_drafted}: {significant(best.gain)} times" in texts(lab_page)
    names = [trace["name"] for trace in figure(lab_page, "sizes-times")["data"]]
    assert "measured" in names


def test_many_draws_are_counted_against_the_models_chances(lab_page: AppTest) -> None:
    run = finish(draws_job())
    view(lab_page, "Sampled")
    assert not lab_page.exception
    drawn = component(lab_page, "specdraws-counts")
    assert drawn["title"] == "One token of a round, drawn many times"
    assert run.test is not None
    assert significant(run.test.statistic) in [
        part["value"] for part in component(lab_page, "specdraws-test")["figures"]
    ]
    assert "What was rejected is made up for by what p holds beyond q" in texts(lab_page)
    finish(draws_job(is_mistaken=True))
    choose(lab_page, "specdraws-rejected--draw-from", "the model's chances again")
    assert "gives the drafted token a second chance" in texts(lab_page)


def test_a_prompt_of_ones_own_runs_as_it_stands_at_the_click(lab_page: AppTest) -> None:
    lab_page.selectbox("speculation-text").set_value("own").run()
    lab_page.text_area("speculation-own-prompt").set_value("  ")
    lab_page.button("speculation-start").click().run()
    assert "The prompt is empty." in texts(lab_page)
    lab_page.number_input("speculation-own-maximum").set_value(3).run()
    lab_page.text_area("speculation-own-prompt").set_value("<script>ab ab ab</script>")
    lab_page.button("speculation-start").click().run()
    experiments = laboratory().experiments
    assert experiments is not None
    name = f"speculation of one's own in speculation: {NUM_DRAFTED}, 0.0, 3, {LOOK_UP}"
    one = experiments.get(own_job(name, lambda: SpeculationRequest("")), str(lab_page.session_state["learner"]))
    assert one is not None
    assert one.future is not None
    run = one.future.result(30)
    lab_page.run()
    assert not lab_page.exception
    assert run.request.prompt == "<script>ab ab ab</script>"
    assert len(run.token_ids) == 3, "fewer than a round would draft"
    assert not any("<script>" in markdown.value for markdown in lab_page.markdown)
    assert sameness(run) in texts(lab_page)


def test_a_smaller_model_is_offered_where_the_server_names_one(
    lab_page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not [group for group in lab_page.button_group if group.label == "Draft"]
    monkeypatch.setenv("TWOPHASES_DRAFT", "random:tiny")
    lab_page.run()
    run = finish(speculation_job("story", draft="random:tiny", num_drafted=4))
    lab_page.selectbox("speculation-text").set_value("story")
    lab_page.select_slider("speculation-drafts-a-round--k").set_value(4)
    choose(lab_page, "speculation-draft", "random:tiny")
    assert not lab_page.exception
    assert run.acceptance == 1
    assert "the measured time to draft a token over a plain step" in texts(lab_page)


def test_a_token_that_spells_markup_is_a_label_and_not_markup() -> None:
    one = Round((5,), 0, 9, 0.0, 0.1, 0.0)
    run = Speculated(SpeculationRequest("x"), "float32", 1, 0, (Repeat((one,), (0.1,)),), "", (), 0.0, None, None)
    (words,) = rounds_chart(run, [["round 1", "drafted <b>x</b> & y"]]).data[0].hovertext
    assert words == "round 1<br>drafted &lt;b&gt;x&lt;/b&gt; &amp; y"
    assert not rounds_chart(None).data
    assert not tokens_chart(()).data
    assert not times_chart((), {}).data


def _speculation() -> None:
    from pages.ui.experiments.speculation.speculation import SpeculationSettings, speculation  # noqa: PLC0415

    speculation(SpeculationSettings(preset="edit", num_drafted=4), key="there", is_fixed=True)


def _own() -> None:
    from pages.ui.experiments.speculation.speculation import SpeculationSettings, speculation  # noqa: PLC0415

    speculation(SpeculationSettings(preset="own", prompt="ab ab ab"), key="there", is_fixed=True)


def _sizes() -> None:
    from pages.ui.experiments.speculation.sizes import SizesSettings, speculation_sizes  # noqa: PLC0415

    speculation_sizes(SizesSettings(preset="story"), key="there", is_fixed=True)


def _draws() -> None:
    from pages.ui.experiments.speculation.draws import MISTAKE, SpeculationDrawsSettings, speculation_draws  # noqa: PLC0415

    speculation_draws(SpeculationDrawsSettings(replaced_from=MISTAKE), key="there", is_fixed=True)


@pytest.mark.parametrize(
    ("script", "chart"), [(_speculation, "rounds"), (_own, "rounds"), (_sizes, "tokens"), (_draws, "counts")]
)
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None], chart: str
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, f"there-{chart}")["title"]
    assert not [*placed.selectbox, *placed.number_input, *placed.select_slider, *placed.button_group]
    assert not [*placed.slider, *placed.text_area]
