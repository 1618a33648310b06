"""Retrieval against writing: charts, table, words, and the experiment on an empty page."""

from streamlit.testing.v1 import AppTest

from inference.catalogue import hardware, models
from inference.facts.serving import WORKLOADS
from inference.planner.compare import compare
from inference.planner.deployment import Workload
from pages.charts import palette
from pages.charts.planner.compare import plan_compare
from pages.ui.experiments.planning.plan_compare import Costs, table, words
from tests.pages.labs import component, texts

TRIO = ("l40s", "rtx-5090", "h100-sxm-80gb")


def costs(*machines: str, model: str = "llama-3.1-8b") -> Costs:
    chosen = [hardware()[name] for name in machines]
    return {kind: compare(models()[model], Workload(*tokens, 8), chosen)[0] for kind, tokens in WORKLOADS.items()}


def test_bars_have_the_colours_of_the_phases_and_are_hatched_as_nothing_is_measured() -> None:
    found = costs(*TRIO)["retrieval"]
    chart = plan_compare(found, [one.plan.hardware.name for one in found], 2.0)
    assert [trace.marker.color for trace in chart.data] == [palette.PREFILL, palette.DECODE]
    assert all(trace.marker.pattern.shape for trace in chart.data)
    assert "estimated" in chart.layout.xaxis.title.text
    assert [sum(values) for values in zip(*(trace.x for trace in chart.data), strict=True)] == [
        one.total_s for one in found
    ]


def test_a_name_on_a_bar_is_written_as_it_is() -> None:
    found = costs("l40s")["writing"]
    chart = plan_compare(found, ["<b>mine</b>"], 9.0)
    assert chart.layout.annotations[0].text.startswith("&lt;b&gt;mine&lt;/b&gt;: ")


def test_the_words_say_which_number_each_work_wants_and_who_changes_places() -> None:
    told = words(costs(*TRIO))
    assert "Retrieval (prefill-heavy" in told
    assert "is decided by FLOP/s" in told
    assert "Writing (decode-heavy" in told
    assert "is decided by bandwidth" in told
    assert "L40S (362 TFLOP/s, 864 GB/s) and RTX 5090 (210 TFLOP/s, 1.79 TB/s) change places" in told
    assert "The order is the same for both" in words(costs("a100-sxm4-80gb", "h200-sxm-141gb"))


def test_the_table_says_how_many_published_rows_stand_behind_a_machine() -> None:
    rows = {(row[0], row[1]): row[-1] for row in table(costs(*TRIO)).rows}
    assert rows["Writing", "RTX 5090"].endswith(" 0 decode")
    assert not rows["Writing", "H100 SXM5 80GB"].endswith(" 0 decode")


def test_two_that_are_needed_are_named() -> None:
    rows = table(costs("h100-sxm-80gb", model="llama-3.1-70b")).rows
    # 141.1 GB of weights, and caches of 21.8 GB or of 6.0 GB
    assert [row[1] for row in rows] == ["4 x H100 SXM5 80GB", "2 x H100 SXM5 80GB"]


def _fixed() -> None:
    from pages.ui.experiments.planning.plan_compare import plan_compare  # noqa: PLC0415

    plan_compare(key="there", is_fixed=True)


def _free() -> None:
    from pages.ui.experiments.planning.plan_compare import plan_compare  # noqa: PLC0415

    plan_compare(key="there")


def test_it_stands_on_an_empty_page_with_its_settings_fixed() -> None:
    placed = AppTest.from_function(_fixed, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-retrieval")["title"] == "Retrieval: 8,192 tokens in, 128 out"
    assert len(component(placed, "there-table")["rows"]) == 6
    assert not [*placed.selectbox, *placed.number_input, *placed.button_group]


def test_its_machines_can_be_changed_and_what_cannot_be_served_is_said() -> None:
    page = AppTest.from_function(_free, default_timeout=20).run()
    page.selectbox("there-machine-1").set_value("a100-sxm4-80gb").run()
    assert {row[1] for row in component(page, "there-table")["rows"]} >= {"A100 SXM4 80GB"}
    page.selectbox("there-model").set_value("tinyllama-1.1b").run()
    assert not page.exception
    assert "Shorten the prompt or the answer" in texts(page)
