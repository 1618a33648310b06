"""The disaggregation lab without a browser: its views, what its words take from the run, and each part anywhere."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from inference.catalogue import hardware
from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import (
    PRESETS,
    ArrangementComparison,
    ArrangementRun,
    ClientRequest,
    StepTimes,
    Transfer,
    WorkerPass,
    scenario,
)
from pages.charts.disaggregation.two_processes import Moved, gaps_chart, goodput_chart, lanes_chart, links_chart
from pages.ui.experiments.disaggregation.fleet import MACHINES
from tests.pages.labs import choose, component, figure, finish, open_lab, texts

FOUND = ArrangementComparison(
    (ClientRequest(0.0, 5, 3), ClientRequest(0.2, 90, 1)),
    (
        ArrangementRun(
            "colocated",
            (
                WorkerPass(0, "prefill", (0,), (1,), 5, 0.0, 0.1),
                WorkerPass(0, "prefill", (1,), (2,), 90, 0.1, 1.1),
                WorkerPass(0, "decode", (0,), (3,), 6, 1.1, 1.2),
                WorkerPass(0, "decode", (0,), (4,), 7, 1.2, 1.3),
            ),
        ),
        ArrangementRun(
            "disaggregated",
            (
                WorkerPass(0, "prefill", (0,), (1,), 5, 0.0, 0.1),
                WorkerPass(1, "decode", (0,), (3,), 6, 0.2, 0.3),
                WorkerPass(1, "decode", (0,), (4,), 7, 0.3, 0.4),
                WorkerPass(0, "prefill", (1,), (2,), 90, 0.2, 1.2),
            ),
            (Transfer(0, 1280, 0.1, 0.15),),
        ),
    ),
    StepTimes(((16, 0.1), (100, 1.0)), ((1, 0.1), (2, 0.1))),
    1,
    is_pinned=True,
)


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    return open_lab(app, "disaggregation")


@pytest.mark.parametrize("view", ["Two processes", "Link", "At scale"])
def test_every_view_opens_with_at_most_one_primary_button(lab_page: AppTest, view: str) -> None:
    choose(lab_page, "disaggregation-lab-view", view)
    assert not lab_page.exception
    is_asked = any("What do its two readers notice" in one.value for one in lab_page.markdown)
    assert is_asked is (view == "Two processes"), "the question is about this view alone"
    assert sum(button.proto.type == "primary" for button in lab_page.button) <= 1


def test_the_gap_of_a_reader_is_drawn_where_it_ended_on_equal_axes() -> None:
    drawn = json.loads(gaps_chart(FOUND).to_json())
    above, below = drawn["data"]
    assert (above["name"], below["name"]) == ("colocated", "disaggregated")
    chart = gaps_chart(FOUND)
    assert [list(trace.y) for trace in chart.data] == [pytest.approx([1100, 100]), pytest.approx([200, 100])]
    assert [list(trace.x) for trace in chart.data] == [pytest.approx([1.2, 1.3]), pytest.approx([0.3, 0.4])]
    assert chart.layout.yaxis.range == chart.layout.yaxis2.range


def test_a_lane_holds_every_pass_of_its_worker_and_nothing_else() -> None:
    bars = {trace.name: list(trace.y) for trace in lanes_chart(FOUND).data}
    assert bars == {
        "colocated, prefill": ["both, first"] * 2,
        "colocated, decode": ["both, first"] * 2,
        "colocated, cache sent": [],
        "disaggregated, prefill": ["prefill"] * 2,
        "disaggregated, decode": ["decode"] * 2,
        "disaggregated, cache sent": ["cache sent"],
    }


def test_charts_before_any_run_are_empty_and_do_not_fail() -> None:
    assert [len(trace.x) for trace in gaps_chart(None).data] == [0, 0]
    assert not lanes_chart(None).data


def test_links_and_splits_are_drawn_with_their_numbers() -> None:
    chart = links_chart([Moved("slow", 2.0), Moved("fast", 0.02)], 0.5)
    assert list(chart.data[0].text) == [" 2.00 s", " 20.0 ms"]
    assert chart.layout.annotations[0].text == "its prefill: 500 ms"
    chart = goodput_chart([(1, 2.0), (2, 3.0)], 2.5, 3)
    assert list(chart.data[0].y) == [2.0, 3.0]
    assert chart.layout.annotations[0].text == "all 3 colocated: 2.50 requests/s"


def test_the_link_view_names_the_link_that_keeps_up(lab_page: AppTest) -> None:
    choose(lab_page, "disaggregation-lab-view", "Link")
    # an H100 at its roofline prefills 2,048 tokens of the 8B in 30.4 ms: 268 MB / 30.4 ms = 8.8 GB/s
    assert re.search(r"makes 8\.\d+ GB/s: PCIe 4\.0 x16 keeps up", texts(lab_page))
    lab_page.number_input(key="link-prompt--tokens").set_value(1).run()
    assert not lab_page.exception


def test_every_machine_at_scale_is_in_the_catalogue() -> None:
    assert set(MACHINES) <= set(hardware())


@pytest.mark.slow
def test_at_scale_the_limit_on_the_pace_decides_which_wins(lab_page: AppTest) -> None:
    choose(lab_page, "disaggregation-lab-view", "At scale")
    assert "Apart wins" in texts(lab_page)
    lab_page.number_input(key="fleet-tpot-limit--ms").set_value(100).run()
    assert "Colocated wins" in texts(lab_page)
    lab_page.number_input(key="fleet-ttft-limit--ms").set_value(1).run()
    assert "No request keeps both limits" in texts(lab_page)


def _placed() -> None:
    from pages.ui.experiments.disaggregation.fleet import fleet  # noqa: PLC0415  # the page is this function alone
    from pages.ui.experiments.disaggregation.link import link  # noqa: PLC0415  # the page is this function alone
    from pages.ui.experiments.disaggregation.two_processes import two_processes  # noqa: PLC0415  # the page is this function alone

    two_processes(key="a", is_fixed=True)
    link(key="b", is_fixed=True)
    fleet(key="c", is_fixed=True)


def test_each_part_stands_on_an_empty_page_with_its_settings_fixed(app: AppTest) -> None:
    placed = AppTest.from_function(_placed, default_timeout=60).run()
    assert not placed.exception
    assert not placed.selectbox
    assert not placed.number_input
    assert [button.label for button in placed.button if button.label != "Table"] == ["Serve both ways"]


def test_requests_that_do_not_fit_are_refused_in_words(lab_page: AppTest) -> None:
    lab_page.number_input(key="two-processes-long-prompt--tokens").set_value(2_000).run()
    lab_page.button(key="two-processes-start").click().run()
    assert not lab_page.exception
    assert "needs 2,004 tokens; the model's context ends at 512" in texts(lab_page)


@pytest.mark.slow
def test_a_run_fills_the_charts_answers_the_prediction_and_checks_the_simulation(lab_page: AppTest) -> None:
    choose(lab_page, "predict-long-prompt-among-streams", "one long pause")
    found = finish(comparison_job(scenario(PRESETS[0])))
    lab_page.run()
    assert not lab_page.exception
    words = texts(lab_page)
    assert "The longest pause between two tokens was" in words
    assert "Measured, colocated: usually" in words
    drawn = figure(lab_page, "two-processes-gaps")["data"]
    assert [trace["name"] for trace in drawn] == ["colocated", "disaggregated"]
    sizes = [one.num_bytes for one in found.served[1].transfers]
    assert sorted(set(sizes)) == [32 * 256, 400 * 256]  # 2 layers x 2 x 2 heads x 8 x 4 bytes a token
    choose(lab_page, "disaggregation-lab-view", "At scale")
    table = component(lab_page, "fleet-check")
    assert len(table["rows"]) == 10
    choose(lab_page, "disaggregation-lab-view", "Link")
    assert "Measured here, through a pipe between the two processes" in texts(lab_page)
