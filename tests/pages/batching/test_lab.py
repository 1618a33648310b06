"""The batching lab without a browser: what it draws and says is what its passes were."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from inference.arithmetic.metrics import ttft_s
from inference.arithmetic.units import seconds, significant
from inference.batching.lanes import requests_seen
from inference.batching.prefill import LENGTHS, both, prefill_batching_job
from inference.batching.presets import EQUAL, MIXED, NEWCOMERS, PRESETS, SHORT_PROMPT, batching_job, chunked_job
from inference.machine.sweep_jobs import batch_job
from tests.pages.labs import choose, component, figure, finish, open_lab, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view

VIEWS = ("Static and continuous", "Chunked prefill", "Batch sweep", "Prefill batching")


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    return open_lab(app, "batching")


def test_the_lab_opens_with_a_prediction_and_at_most_one_primary_button(lab_page: AppTest) -> None:
    assert any("How many times its tokens per second" in markdown.value for markdown in lab_page.markdown)
    for name in VIEWS:
        choose(lab_page, "batching-lab-view", name)
        assert not lab_page.exception
        assert sum(button.proto.type == "primary" for button in lab_page.button) <= 1


def test_the_mixed_requests_answer_the_prediction_with_numbers_of_the_run(lab_page: AppTest) -> None:
    choose(lab_page, "predict-batching", "over 2 times")
    static, continuous = finish(batching_job()).arms
    lab_page.run()
    assert not lab_page.exception
    words = texts(lab_page)
    assert "(2.10 to 1, counted)" in words
    assert f"{static.idle_slots:,} of {static.offered_slots:,} slots idle" in words
    times = significant(continuous.tokens_per_s / static.tokens_per_s)
    assert f"Measured: {times} times, for 2.10 times fewer passes." in words
    rows = {row[0]: row[1:] for row in component(lab_page, "batching-totals")["rows"]}
    assert rows["passes"] == ["168", "80", "2.10 times"]
    assert rows["idle slots"] == ["852", "148", "5.76 times"]
    assert rows["tokens generated"] == ["492", "492", "1.00 times"]
    assert rows["tokens/s in all"][2] == f"{times} times"
    assert rows["time of all passes"][:2] == [seconds(static.total_s), seconds(continuous.total_s)]


def test_equal_requests_are_said_to_gain_nothing(lab_page: AppTest) -> None:
    finish(batching_job(PRESETS[EQUAL]))
    lab_page.selectbox("batching-requests").set_value(EQUAL).run()
    assert not lab_page.exception
    assert "It gains nothing here" in texts(lab_page)
    assert ", and both took " in texts(lab_page)


def test_edited_requests_are_what_is_served(lab_page: AppTest) -> None:
    (text,) = lab_page.text_area
    assert len((text.value or "").splitlines()) == len(PRESETS[MIXED])
    text.set_value("0, 4, 3\n\n2 6 1").run()
    lab_page.button("batching-start").click().run()
    from inference.batching.records import Arrival  # noqa: PLC0415

    arms = finish(batching_job((Arrival(0, 4, 3), Arrival(2, 6, 1)))).arms
    lab_page.run()
    assert component(lab_page, "batching-totals")["rows"][0][1:3] == [str(len(arm.passes)) for arm in arms]
    assert component(lab_page, "batching-totals")["rows"][0][1:3] == ["4", "3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0, 4\n", "Line 1 must be three whole numbers (arrival, prompt tokens, output tokens), got '0, 4'."),
        ("0, 4, <b>9</b>", "got '0, 4, <b>9</b>'"),
        ("0, 4, 4\n-2, 4, 4", "Request 2 arrives 2 passes in the past"),
        ("", "must hold 1 to 200 requests, it holds 0"),
        ("0, 1, 1\n" * 201, "it holds 201"),
    ],
)
def test_a_list_that_cannot_be_served_says_why_and_offers_no_button(
    lab_page: AppTest, text: str, said: str
) -> None:
    lab_page.text_area[0].set_value(text).run()
    assert not lab_page.exception
    assert said in texts(lab_page)
    assert "batching-start" not in {button.key for button in lab_page.button}


def test_a_request_beyond_the_context_is_refused_with_both_numbers(lab_page: AppTest) -> None:
    lab_page.text_area[0].set_value("0, 500, 20").run()
    lab_page.button("batching-start").click().run()
    assert "Request 1 reaches 520 tokens, the model's context holds 512" in texts(lab_page)


def test_chunks_say_what_the_newcomer_pays(lab_page: AppTest) -> None:
    whole, chunked = finish(chunked_job()).arms
    choose(lab_page, "batching-lab-view", "Chunked prefill")
    assert not lab_page.exception
    first = [requests_seen(arm)[-1] for arm in (whole, chunked)]
    ttfts = [seconds(ttft_s(one)) for one in first if one]
    rows = {row[0]: row[1:] for row in component(lab_page, "chunked-totals")["rows"]}
    assert rows["passes of the newcomer's prefill"] == ["1", "8"]
    assert rows["newcomer's TTFT"] == ttfts
    assert f"its TTFT is {ttfts[1]} instead of {ttfts[0]}" in texts(lab_page)
    labels = [note["text"] for note in figure(lab_page, "chunked-chart")["layout"]["annotations"]]
    assert [label.endswith(ttft) for label, ttft in zip(labels, ttfts, strict=True)] == [True, True]


def test_a_prompt_that_fits_the_limit_is_said_to_be_the_same_both_ways(lab_page: AppTest) -> None:
    finish(chunked_job(NEWCOMERS[SHORT_PROMPT], 128))
    choose(lab_page, "batching-lab-view", "Chunked prefill")
    lab_page.selectbox("chunked-newcomer").set_value(SHORT_PROMPT)
    lab_page.get_by_key("chunked-tokens-per-pass").set_value(128)  # type: ignore[union-attr]
    lab_page.run()
    assert "fits into one pass under this limit too" in texts(lab_page)


def test_the_batch_sweep_says_what_a_batch_gives_and_where_the_weights_end(lab_page: AppTest) -> None:
    sweep = finish(batch_job())
    choose(lab_page, "batching-lab-view", "Batch sweep")
    assert not lab_page.exception
    rates = [one.setting.batch_size / one.median_s for one in sweep.points]
    gain = max(rates) / rates[0]
    assert f"gives {significant(gain)} times the tokens per second of batch 1" in texts(lab_page)
    drawn = figure(lab_page, "batch-sweep-time")["data"]
    assert [trace["name"] for trace in drawn] == ["decode, measured", "weights, read once", "arithmetic"]
    assert [trace["line"].get("dash") for trace in drawn] == [None, "dash", "dash"]


def test_prefill_batching_compares_one_pass_with_taking_turns(lab_page: AppTest) -> None:
    found = both(finish(prefill_batching_job()))
    choose(lab_page, "batching-lab-view", "Prefill batching")
    assert not lab_page.exception
    assert [one.num_tokens for one in found] == list(LENGTHS)
    assert f"are done {significant(found[0].gain)} times as fast in one pass" in texts(lab_page)
    assert f"the mean TTFT is {significant(found[-1].ttft_ratio)} times" in texts(lab_page)


def _batching() -> None:
    from pages.ui.experiments.batching.batching import BatchingSettings, batching  # noqa: PLC0415

    batching(BatchingSettings("Burst", slots=4, tokens_per_pass=64), key="there", is_fixed=True)


def _chunked() -> None:
    from pages.ui.experiments.batching.chunked_prefill import ChunkedPrefillSettings, chunked_prefill  # noqa: PLC0415

    chunked_prefill(ChunkedPrefillSettings(tokens_per_pass=32), key="there", is_fixed=True)


def _sweep() -> None:
    from pages.ui.experiments.batching.batch_sweep import BatchSweepSettings, batch_sweep  # noqa: PLC0415

    batch_sweep(BatchSweepSettings(sizes=(1, 2)), key="there", is_fixed=True)


def _prefill() -> None:
    from pages.ui.experiments.batching.prefill_batching import PrefillBatchingSettings, prefill_batching  # noqa: PLC0415

    prefill_batching(PrefillBatchingSettings(num_prompts=2), key="there", is_fixed=True)


@pytest.mark.parametrize(
    ("script", "chart"),
    [
        (_batching, "lanes"),
        (_batching, "tokens"),
        (_batching, "blocks"),
        (_chunked, "chart"),
        (_sweep, "time"),
        (_sweep, "rate"),
        (_prefill, "all"),
        (_prefill, "mean"),
    ],
)
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None], chart: str
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert component(placed, f"there-{chart}")["title"]
    assert not [
        *(*placed.selectbox, *placed.number_input, *placed.select_slider),
        *(*placed.button_group, *placed.text_area),
    ]
