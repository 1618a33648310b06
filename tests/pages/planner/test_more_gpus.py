"""Why not just more GPUs: the chart, its words and tables, and the experiment on an empty page."""

import itertools
from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from inference.catalogue import hardware, models
from inference.planner.deployment import Workload
from inference.planner.more_gpus import COUNTS, WAYS, Scenario, Use, side_by_side
from pages.charts import palette
from pages.charts.planner.more_gpus import more_gpus
from pages.ui.experiments.planning.more_gpus import PRESETS
from pages.ui.experiments.planning.more_gpus_text import PREDICTION, count_table, outcome, steps_table, words
from tests.pages.labs import choose, component, texts

H100 = hardware()["h100-sxm-80gb"]


def uses(model: str, *, conversations: int = 1, is_at_best: bool = True) -> Sequence[Use]:
    work = Workload(1, 1, conversations)
    return side_by_side(Scenario(models()[model], H100, work, is_at_best=is_at_best))[0]


def test_three_dashed_lines_from_zero_over_all_counts() -> None:
    chart = more_gpus(uses("llama-3.1-8b"))
    assert {trace.name for trace in chart.data} == set(WAYS)
    assert all(trace.line.dash == "dash" and tuple(trace.x) == COUNTS for trace in chart.data)
    assert "estimated" in chart.layout.yaxis.title.text
    assert chart.layout.yaxis.range[0] == 0
    assert len({trace.marker.symbol for trace in chart.data}) == len(WAYS)


def test_marks_are_hollow_where_the_model_does_not_fit() -> None:
    traces = {trace.name: trace.marker.color for trace in more_gpus(uses("llama-3.1-70b")).data}
    assert set(traces["replicas"]) == {palette.CARD}
    assert traces["tensor parallel"][0] == palette.CARD
    assert palette.CARD not in traces["tensor parallel"][1:]


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-0.6b", "gpt2", "smollm2-135m", "deepseek-v3"])
def test_the_names_at_the_ends_of_the_lines_stand_apart(model: str) -> None:
    chart = more_gpus(uses(model))
    places = sorted(note.y for note in chart.layout.annotations if note.text in WAYS)
    assert len(places) == len(WAYS)
    assert all(above - below > 0.07 for below, above in itertools.pairwise(places))


def test_the_table_is_the_published_one() -> None:
    rows = {row[0]: row[1:] for row in steps_table(uses("llama-3.1-8b")).rows}
    assert rows["tensor parallel"] == ["4.48 ms", "2.88 ms", "1.76 ms", "1.20 ms", "2.20 ms"]
    assert set(rows["replicas"]) == {"4.48 ms"}
    rows = {row[0]: row[1:] for row in steps_table(uses("llama-3.1-70b")).rows}
    assert rows["tensor parallel"][:3] == ["41.5 ms if it fitted", "22.3 ms", "12.0 ms"]


def test_a_split_that_cannot_be_is_said_in_its_place() -> None:
    rows = {row[0]: row[1:] for row in steps_table(uses("smollm2-135m")).rows}
    assert rows["tensor parallel"][1:] == ["cannot be"] * 4


def test_the_answer_is_neither_yes_nor_no() -> None:
    found = outcome()
    assert found.right == "about 4 times"
    assert found.right in PREDICTION.options
    assert "1.20 ms instead of 4.48 ms at best, 3.73 times" in found.sentence


def test_the_words_name_whom_each_way_helps_and_when_it_loses() -> None:
    told = words(uses("llama-3.1-8b"), 8)
    assert "3.73 times as fast, not 8 times, because nobody shares out 64 exchanges, 640 µs" in told
    assert "16 are slower again" in told
    assert "7 of these 8 stand idle" in told
    assert "Expert parallelism" in told
    assert "8 are faster than 16" in words(uses("llama-3.1-8b"), 16)
    assert "longer than on one" in words(uses("qwen3-0.6b"), 8)
    assert "what every layer costs" in words(uses("llama-3.1-8b", is_at_best=False), 8)
    assert "8 queues move at once" in words(uses("llama-3.1-8b", conversations=8), 8)
    assert "61.1 GB are missing" in words(uses("llama-3.1-70b"), 8)


def test_the_second_table_says_what_fits() -> None:
    rows = {row[0]: row for row in count_table(uses("llama-3.1-70b"), 8).rows}
    assert rows["replicas"][5] == "1.13 TB of 640 GB: does not fit"
    assert rows["tensor parallel"][5] == "141 GB of 640 GB"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_that_says_it_loses_does(name: str) -> None:
    chosen = PRESETS[name]
    work = Workload(chosen.prompt_tokens, chosen.output_tokens, chosen.conversations)
    scenario = Scenario(models()[chosen.model], H100, work, chosen.inside_us / 1e6, chosen.across_us / 1e6)
    one, *more = [use.plan.itl_s for use in side_by_side(scenario)[0] if use.way == "tensor parallel"]
    assert (min(more) > one) == name.startswith("Loses")


def _fixed() -> None:
    from pages.ui.experiments.planning.more_gpus import MoreGpusSettings, more_gpus  # noqa: PLC0415

    more_gpus(MoreGpusSettings("One person, 70B", count=2), key="there", is_fixed=True)


def _free() -> None:
    from pages.ui.experiments.planning.more_gpus import more_gpus  # noqa: PLC0415

    more_gpus(key="there")


def test_it_stands_on_an_empty_page_with_its_settings_fixed() -> None:
    placed = AppTest.from_function(_fixed, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-steps")["rows"][2][2] == "22.3 ms"
    assert component(placed, "there-count-table")["title"] == "All 2 together"
    assert not [*placed.selectbox, *placed.number_input, *placed.button_group]


def test_nothing_is_told_before_the_guess_and_all_after_it() -> None:
    page = AppTest.from_function(_free, default_timeout=20).run()
    assert "640 µs" not in texts(page)
    assert not page.get("bidi_component")
    choose(page, f"predict-{PREDICTION.id}", "about 8 times")
    assert not page.exception
    assert "You predicted about 8 times; it is about 4 times." in texts(page)
    assert component(page, "there-steps")["rows"][2][1:] == ["4.48 ms", "2.88 ms", "1.76 ms", "1.20 ms", "2.20 ms"]
    page.selectbox("there-preset").set_value("Loses: a small model").run()
    assert "longer than on one" in texts(page)
    page.number_input("there-Loses: a small model-prompt--tokens").set_value(50_000).run()
    assert not page.exception
    assert "Shorten the prompt or the answer" in texts(page)
