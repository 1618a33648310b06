"""The tools' readings and goodput on the page, and each of them placed anywhere."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from inference.arithmetic.definitions import DEFINITIONS, readings
from inference.arithmetic.metrics import Request, tpot_s, ttft_s
from inference.latency.request_events import EXAMPLES, A, B, C, D, E, steady
from pages.charts.latency.goodput import limits_chart
from pages.charts.latency.readings import METRICS, rows, timeline
from pages.ui.experiments.latency.goodput import is_good, pool, verdict
from pages.ui.experiments.latency.readings_text import difference
from tests.pages.labs import choose, component, figure, run_of, texts


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    app.run()
    app.switch_page("../lab/latency.py")
    return choose(app.run(), "latency-lab-view", "Readings")


def test_the_readings_of_b_stand_by_tool_and_version_and_the_odd_ones_are_marked(lab_page: AppTest) -> None:
    assert not lab_page.exception
    table = component(lab_page, "readings-table")
    assert [line[0] for line in table["rows"]] == [definition.name for definition in DEFINITIONS]
    assert table["columns"][1:] == list(METRICS)
    itl = {line[0]: line[1 + METRICS.index("ITL")] for line in table["rows"]}
    assert itl == {name: "40.0 ms" if "vLLM" in name or "chat" in name else "20.0 ms" for name in itl}
    assert [0, 1 + METRICS.index("ITL")] in table["marked"]
    assert not [column for _, column in table["marked"] if column == 1 + METRICS.index("TTFT")]
    assert "guidellm's TPOT is 24.8 ms because TTFT is in it" in texts(lab_page)
    assert "2,520 ms, one token more than the 2,500 ms" in texts(lab_page)


def test_an_empty_first_chunk_reads_by_vllms_version(lab_page: AppTest) -> None:
    lab_page.selectbox("readings-request").set_value("Example D: an empty first chunk").run()
    assert not lab_page.exception
    assert "TTFT is 900 ms up to 0.32" in texts(lab_page)
    assert "2.20 s from 0.33" in texts(lab_page)
    assert "TPOT is 88.4 ms up to 0.32" in texts(lab_page)
    assert "readings-tokens-per-chunk" not in [one.key for one in lab_page.button_group]


def test_a_in_chunks_of_two_reads_as_b(lab_page: AppTest) -> None:
    assert "readings-tokens-per-chunk" not in [one.key for one in lab_page.button_group]  # B has its chunks
    before = component(lab_page, "readings-table")["rows"]
    lab_page.selectbox("readings-request").set_value("Example A: a token at a time").run()
    assert component(lab_page, "readings-table")["rows"] != before
    choose(lab_page, "readings-tokens-per-chunk", 2)
    assert component(lab_page, "readings-table")["rows"] == before


def test_the_pool_says_why_both_means_are_right(lab_page: AppTest) -> None:
    lab_page.selectbox("readings-request").set_value("Pool of A and C: long and short").run()
    assert "a mean over requests is 110 ms" in texts(lab_page).casefold()
    assert "23.5 ms" in texts(lab_page)
    assert len([one for one in figure(lab_page, "readings-chart")["data"] if one["name"] == "events"]) == 2


def test_a_learner_reads_their_own_run_or_is_told_how_to_get_one(lab_page: AppTest) -> None:
    lab_page.selectbox("readings-request").set_value("Your own run").run()
    assert "press Prefill" in texts(lab_page)
    run_of(lab_page, "A light on a rock", 6)
    lab_page.run()
    assert not lab_page.exception
    (events,) = [one for one in figure(lab_page, "readings-chart")["data"] if one["name"] == "events"]
    assert "6 tokens in 6 events" in str(figure(lab_page, "readings-chart"))
    assert events


def test_the_timeline_has_a_mark_for_every_event_after_the_first() -> None:
    chart = timeline((A, C), is_measured=False)
    marks = [len(one.x) for one in chart.data if one.name == "events"]
    assert marks == [100, 2]
    assert "worked example" in chart.layout.xaxis.title.text
    assert "measured" in timeline((A,), is_measured=True).layout.xaxis.title.text


def test_an_event_without_a_token_is_drawn_as_one() -> None:
    (empty,) = [one for one in timeline((D,), is_measured=False).data if one.name == "empty events"]
    assert list(empty.x) == pytest.approx([900])
    assert not [one for one in timeline((A, C), is_measured=False).data if one.name == "empty events"]


def test_only_what_differs_from_most_is_marked() -> None:
    written, odd = rows(readings((A,)))
    assert {METRICS[column - 1] for _, column in odd} == {"TPOT"}
    assert [written[line][0].split()[0] for line, _ in odd] == ["guidellm"]
    for line, column in rows(readings((B, D)))[1]:
        column_texts = [row[column] for row in rows(readings((B, D)))[0]]
        assert 2 * column_texts.count(column_texts[line]) < len(column_texts)


def test_a_sentence_stands_where_the_readings_differ_and_only_there() -> None:
    said = {name: difference(pool, readings(pool)) for name, pool in EXAMPLES.items()}
    assert [name for name in said if "the gap between events" in said[name]] == [
        "Example B: two tokens per chunk",
        "Example E: four tokens in every chunk",
    ]
    assert [name for name in said if "up to 0.32" in said[name]] == ["Example D: an empty first chunk"]
    assert [name for name in said if "per-chunk-usage" in said[name]] == ["Example E: four tokens in every chunk"]
    assert [name for name in said if "Both are right" in said[name]] == ["Pool of A and C: long and short"]
    assert "ITL of 19.4 ms" in said["Example E: four tokens in every chunk"]
    assert "gets 20.0 ms" in said["Example E: four tokens in every chunk"]


@pytest.mark.parametrize(
    "pool",
    [
        (steady(ttft_s=0.5, gap_s=0.0, tokens_per_event=(1,)),),
        (steady(ttft_s=0.5, gap_s=0.0, tokens_per_event=(7,)),),
        (steady(ttft_s=500.0, gap_s=1e-6, tokens_per_event=(1, 1)),),
        (A, A),
        (E, E),
    ],
)
def test_equal_or_missing_readings_are_not_told_apart(pool: tuple[Request, ...]) -> None:
    words = difference(pool, readings(pool))
    assert "one token more" not in words
    assert "Both are right" not in words
    assert "up to 0.32" not in words
    assert "nan" not in words
    assert "inf" not in words


def test_goodput_stands_beside_throughput(lab_page: AppTest) -> None:
    choose(lab_page, "latency-lab-view", "Goodput")
    assert not lab_page.exception
    assert "Goodput is" in texts(lab_page)
    assert "of a throughput of" in texts(lab_page)
    lab_page.number_input("goodput-ttft-limit--ms").set_value(1).run()
    assert "Goodput is 0 requests/s" in texts(lab_page)
    assert "0 % of the requests" in texts(lab_page)


def test_points_are_ttft_and_tpot_of_the_pool() -> None:
    requests = pool(0.5)
    good = [is_good(one, 0.5, 0.15, 4) for one in requests]
    assert good == [
        ttft_s(one) <= 0.5 and (tpot_s(one) or 0) <= 0.15 and one.event_times_s[-1] - one.sent_s <= 4
        for one in requests
    ]
    chart = limits_chart(requests, good, ttft_limit_s=0.5, tpot_limit_s=0.15)
    dots, crosses = chart.data[:2]
    assert len(dots.x) == sum(good)
    assert len(crosses.x) == len(good) - sum(good)
    assert np.max(dots.x) <= 500
    assert np.max(dots.y) <= 150


def test_more_load_leaves_fewer_requests_good() -> None:
    shares = [np.mean([is_good(one, 0.5, 0.15, 4) for one in pool(load)]) for load in (0.1, 0.5, 0.95)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 1.5 * shares[2]


def test_without_a_miss_no_limit_is_blamed() -> None:
    requests = pool(0.1)
    words = verdict(requests, [True] * len(requests), 600, 60, 600)
    assert "missed most" not in words
    assert "100 % of the requests" in words


def _readings() -> None:
    from pages.ui.experiments.latency.readings import ReadingSettings, tool_readings  # noqa: PLC0415

    tool_readings(ReadingSettings("Example A: a token at a time", 4), key="there", is_fixed=True)


def _goodput() -> None:
    from pages.ui.experiments.latency.goodput import GoodputSettings, goodput_limits  # noqa: PLC0415

    goodput_limits(GoodputSettings(load=0.9), key="there", is_fixed=True)


@pytest.mark.parametrize("script", [_readings, _goodput])
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(app: AppTest, script) -> None:  # type: ignore[no-untyped-def]
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, "there-chart")["title"]
    assert not [*placed.selectbox, *placed.number_input, *placed.slider, *placed.button_group]
