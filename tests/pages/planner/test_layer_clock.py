"""The layers' clock: what is measured by others and what is estimated, and the experiment on an empty page."""

import pytest
from streamlit.testing.v1 import AppTest

from inference.planner.published.layer_clock import rows
from pages.charts import palette
from pages.charts.planner.layer_clock import layer_clock
from pages.ui.experiments.planning.layer_clock import table, words
from tests.pages.labs import component, texts

STEPS = [one for one in rows() if one.run.kind == "decode"]
A100 = [one for one in STEPS if one.run.hardware.id == "a100-sxm4-80gb"]


def test_published_points_are_full_and_say_where_they_are_from_and_floors_are_hollow() -> None:
    traces = {trace.name: trace for trace in layer_clock(A100, 0.86e-3).data}
    published, floor = traces["measured by others"], traces["floor, estimated"]
    assert published.marker.color == palette.DECODE
    assert floor.marker.color == palette.CARD
    for one, told in zip(A100, published.hovertext, strict=True):
        assert palette.literal(one.run.source) in told
        assert "measured by others" in told
    assert all("estimated" in told for told in floor.hovertext)
    assert (traces["clock"].y[1] - traces["clock"].y[0]) / traces["clock"].x[1] == pytest.approx(0.86)


def test_few_points_have_names_and_many_have_none() -> None:
    named = [note.text for note in layer_clock(A100, 0.86e-3).layout.annotations]
    assert {"Qwen2.5-0.5B", "Qwen2.5-7B"} <= set(named)
    assert len(layer_clock(STEPS, 0.86e-3).layout.annotations) == 1


def test_the_words_compare_models_of_nearly_as_many_layers() -> None:
    told = words(A100)
    assert "Qwen2.5-7B has 15.4 times the parameters of Qwen2.5-0.5B and takes 1.17 times as long" in told
    assert "28 layers instead of 24" in told
    h20 = words([one for one in STEPS if one.run.hardware.id == "h20-96gb"])
    assert "Qwen3-8B" in h20
    assert "36 layers instead of 28" in h20
    assert "times its floor" in words([one for one in STEPS if one.run.hardware.id == "t4"])


def test_the_table_gives_the_source_of_every_row() -> None:
    found = table(STEPS)
    assert len(found.rows) == len(STEPS)
    assert all(len(row) == len(found.columns) and row[-1] for row in found.rows)


def _fixed() -> None:
    from pages.ui.experiments.planning.layer_clock import LayerClockSettings, layer_clock  # noqa: PLC0415

    layer_clock(LayerClockSettings("h20-96gb"), key="there", is_fixed=True)


def _free() -> None:
    from pages.ui.experiments.planning.layer_clock import layer_clock  # noqa: PLC0415

    layer_clock(key="there")


def test_it_stands_on_an_empty_page_with_its_settings_fixed() -> None:
    placed = AppTest.from_function(_fixed, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-chart")["title"] == "Milliseconds by the layer"
    assert not placed.selectbox


def test_every_machine_with_rows_can_be_chosen() -> None:
    page = AppTest.from_function(_free, default_timeout=20).run()
    before = texts(page)
    for machine in page.selectbox("there-accelerator").options:
        page.selectbox("there-accelerator").select(machine).run()
        assert not page.exception
    assert texts(page) != before
