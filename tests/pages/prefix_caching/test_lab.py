"""The prefix caching lab without a browser: its views, its measurements, and each experiment placed anywhere."""

import statistics
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.prefix_caching.chat import chat_job
from inference.prefix_caching.pair import PairPrompts, pair_job
from inference.prefix_caching.records import saving
from inference.prefix_caching.shared import Arrivals, shared_job
from inference.prefix_caching.tenants import SECRETS, TRUE_SECRET, Leak, tenants_job
from pages.ui.experiments.prefix_caching.pair import OWN
from tests.pages.labs import choose, component, figure, finish, open_lab, texts

pytestmark = pytest.mark.slow  # a whole lab, view after view

VIEWS = ("Two prompts", "Conversation", "Shared system prompt", "Tenants")
PAIR = PairPrompts(shared_tokens=100)


@pytest.fixture
def lab_page(app: AppTest) -> AppTest:
    return open_lab(app, "prefix_caching")


def view(app: AppTest, name: str) -> AppTest:
    return choose(app, "prefix-lab-view", name)


def test_the_lab_opens_with_a_prediction_and_at_most_one_primary_button(lab_page: AppTest) -> None:
    assert any("How many times shorter" in markdown.value for markdown in lab_page.markdown)
    for name in VIEWS:
        view(lab_page, name)
        assert not lab_page.exception
        assert sum(button.proto.type == "primary" for button in lab_page.button) <= 1


def test_prompts_longer_than_the_context_are_refused_with_the_numbers(lab_page: AppTest) -> None:
    lab_page.button("prefix-pair-start").click().run()
    assert "The longer prompt with its output reaches 8" in texts(lab_page)
    assert "the model's context holds 512" in texts(lab_page)


def test_the_second_prompt_is_drawn_block_by_block_and_the_changed_token_is_marked(lab_page: AppTest) -> None:
    shown = component(lab_page, "prefix-pair-prompt-1")
    assert [block["kind"] for block in shown["blocks"]][:2] == ["shared", "gap"]
    assert shown["blocks"][-1]["kind"] == "partial"
    lab_page.selectbox("prefix-pair-preset").set_value("One token changed early (loses)").run()
    shown = component(lab_page, "prefix-pair-prompt-1")
    assert shown["blocks"][0]["kind"] == "own"
    marked = [place for place, token in enumerate(shown["blocks"][0]["tokens"], start=1) if token["changed"]]
    assert marked == [3]
    lab_page.number_input("prefix-pair-changed-token").set_value(40).run()
    kinds = [block["kind"] for block in component(lab_page, "prefix-pair-prompt-1")["blocks"]]
    assert kinds[:3] == ["shared", "shared", "own"]


def test_prompts_of_the_learners_own_are_text_and_run(lab_page: AppTest) -> None:
    lab_page.selectbox("prefix-pair-preset").set_value(OWN).run()
    lab_page.text_area("prefix-pair-first-prompt").set_value("<b>" + "x" * 40).run()
    lab_page.text_area("prefix-pair-second-prompt").set_value("<b>" + "x" * 40 + "![a](b)").run()
    assert not lab_page.exception
    blocks = component(lab_page, "prefix-pair-prompt-1")["blocks"]
    assert "".join(token["label"] for token in blocks[0]["tokens"]).startswith("<b>xxx")
    assert [block["kind"] for block in blocks] == ["shared", "shared", "own", "partial"]
    lab_page.text_area("prefix-pair-second-prompt").set_value("").run()
    lab_page.button("prefix-pair-start").click().run()
    assert "A prompt is empty" in texts(lab_page)


def _pair() -> None:
    from pages.ui.experiments.prefix_caching.pair import PairSettings, two_prompts  # noqa: PLC0415

    two_prompts(PairSettings(shared_tokens=100, repeats=1), key="there", is_fixed=True)


def _changed() -> None:
    from inference.prefix_caching.pair import LOSES  # noqa: PLC0415
    from pages.ui.experiments.prefix_caching.pair import PairSettings, two_prompts  # noqa: PLC0415

    two_prompts(PairSettings(LOSES, shared_tokens=100, repeats=1), key="there", is_fixed=True)


def _chat() -> None:
    from pages.ui.experiments.prefix_caching.chat import ChatSettings, conversation  # noqa: PLC0415

    conversation(ChatSettings(num_turns=2, reply_tokens=3), key="there", is_fixed=True)


def _shared() -> None:
    from pages.ui.experiments.prefix_caching.shared import SharedSettings, shared_prompt  # noqa: PLC0415

    shared_prompt(SharedSettings(num_learners=4, system_tokens=64), key="there", is_fixed=True)


def _too_small() -> None:
    from pages.ui.experiments.prefix_caching.shared import SharedSettings, shared_prompt  # noqa: PLC0415

    shared_prompt(SharedSettings(system_tokens=64, budget_mb=0.002), key="there", is_fixed=True)


def _tenants() -> None:
    from pages.ui.experiments.prefix_caching.tenants import TenantsSettings, tenants  # noqa: PLC0415

    tenants(TenantsSettings(record_tokens=64, block_size=32, repeats=1), key="there", is_fixed=True)


@pytest.mark.parametrize(
    ("script", "charts"),
    [
        (_pair, ("blocks", "ttft")),
        (_changed, ("blocks", "ttft")),
        (_chat, ("tokens", "ttft")),
        (_shared, ("tokens", "kept")),
        (_tenants, ("together", "salted")),
    ],
)
def test_an_experiment_stands_on_an_empty_page_with_its_settings_fixed(
    app: AppTest, script: Callable[[], None], charts: tuple[str, str]
) -> None:
    placed = AppTest.from_function(script, default_timeout=20).run()
    assert not placed.exception
    assert all(component(placed, f"there-{chart}")["title"] for chart in charts)
    assert not [*placed.selectbox, *placed.number_input, *placed.select_slider, *placed.button_group]


def test_a_budget_smaller_than_one_block_is_refused_on_the_screen(app: AppTest) -> None:
    placed = AppTest.from_function(_too_small, default_timeout=20).run()
    placed.button("there-start").click().run()
    assert "A budget of 0.002 MB is smaller than one block: 16 tokens take 0.0041 MB." in texts(placed)


def test_the_numbers_on_the_screen_are_those_of_the_run(app: AppTest) -> None:
    found = finish(pair_job(PAIR, repeats=1))
    placed = AppTest.from_function(_pair, default_timeout=20).run()
    card = component(placed, "there-numbers")
    warm = found.warm[0]
    share = saving(found.spec, prompt_tokens=warm.prompt_tokens, cached_tokens=warm.cached_tokens).share
    assert [one["value"] for one in card["figures"]][:3] == [
        f"{significant(found.speedup)} times",
        percent(share),
        f"{warm.hit_blocks} hit, {warm.missed_blocks} missed",
    ]
    words = card["sentence"]
    first = words[: words.index("The price")]  # which way it went is the machine's; both times stand in it
    assert seconds(found.cold[0].ttft_s) in first
    assert seconds(warm.ttft_s) in first
    assert f"The price: {scaled(found.kept_bytes, 'B')} kept" in words
    assert "all 12 greedy tokens are the same" in words
    assert f"{found.shared_tokens:,} are equal here and {warm.cached_tokens:,} hit" in words
    (computed, cached, *_) = figure(placed, "there-blocks")["data"]
    assert len(computed["hovertext"]) == 3
    assert cached["y"] == [2], "only the warm request took blocks from the cache"
    assert f"{warm.hit_blocks} blocks hit" in computed["hovertext"][2]


def test_the_losing_preset_says_that_nothing_hit(app: AppTest) -> None:
    finish(pair_job(PairPrompts(100, changed=3), repeats=1))
    placed = AppTest.from_function(_changed, default_timeout=20).run()
    words = component(placed, "there-numbers")["sentence"]
    assert "Only the first 2 tokens are equal" in words
    assert "none hits and all is computed again" in words
    assert component(placed, "there-numbers")["figures"][1]["value"] == "none"
    (_, cached, *_) = figure(placed, "there-blocks")["data"]
    assert cached["hovertext"] == [], "there is nothing to outline"


def test_the_conversation_says_what_came_from_the_cache(app: AppTest) -> None:
    found = finish(chat_job(num_turns=2, reply_tokens=3))
    placed = AppTest.from_function(_chat, default_timeout=20).run()
    served = [turn.warm[-1] for turn in found.turns]
    share = sum(one.cached_tokens for one in served) / sum(one.prompt_tokens for one in served)
    assert f"{percent(share)} of all prompt tokens came from the cache" in texts(placed)
    assert "decode takes" in texts(placed)
    assert f"{scaled(found.kept_bytes, 'B')} kept by turn 2" in texts(placed)
    assert "computed again" in [note["text"] for note in figure(placed, "there-ttft")["layout"]["annotations"]]


def test_the_shared_prompt_says_who_hit_and_what_was_evicted(app: AppTest) -> None:
    found = finish(shared_job(Arrivals(num_learners=4, system_tokens=64)))
    placed = AppTest.from_function(_shared, default_timeout=20).run()
    hit_s = statistics.median(one.served.ttft_s for one in found.arrivals[1:])
    assert f"a median TTFT of {seconds(hit_s)} where something hit (3 requests)" in texts(placed)
    assert "0 blocks evicted" in texts(placed)
    notes = [note["text"] for note in figure(placed, "there-kept")["layout"]["annotations"]]
    assert notes == ["budget: 25.0 MB"]


def test_the_tenants_are_told_whether_the_clock_gives_the_secret_away(app: AppTest) -> None:
    found = finish(tenants_job(Leak(record_tokens=64), block_size=32, repeats=1))
    placed = AppTest.from_function(_tenants, default_timeout=20).run()
    assert "On one cache" in texts(placed)
    assert f"{found.added_blocks_salted} blocks of 32 tokens are kept a second time instead of 0" in texts(placed)
    drawn = figure(placed, "there-together")["layout"]["yaxis"]["ticktext"]
    assert drawn == list(SECRETS)
    assert found.guesses[TRUE_SECRET].together[0].hit_blocks
