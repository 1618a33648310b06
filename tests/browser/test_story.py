"""What the app is for, done in a real browser with the real model."""

import json
import re
from itertools import pairwise
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import expect

from inference.engine import Engine
from inference.trace import Trace
from pages.charts.tokens import visible
from tests.browser.driving.keyboard import Keyboard
from tests.browser.driving.lab_page import CHARTS, LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
PROMPT = "The sky is blue because"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


def _greedy(engine: Engine, prompt: str, num_tokens: int) -> list[int]:
    inputs = engine.tokenizer(prompt, return_tensors="pt")
    with torch.inference_mode():
        output = engine.model.generate(**inputs, max_new_tokens=num_tokens, do_sample=False)
    return [int(token_id) for token_id in output[0, inputs["input_ids"].shape[1] :]]


def test_forty_tokens_in_and_thirty_out_are_one_prefill_and_29_decodes_of_the_models_own_text(
    lab: LabPage, engine: Engine
) -> None:
    words = ["river"] + [" stone"] * 60
    prompt = next(
        "".join(words[:n]) for n in range(1, 61) if len(engine.tokenizer("".join(words[:n])).input_ids) == 40
    )
    lab.prefill(prompt)
    lab.expect_text("1 prefill, 0 decodes · 40 tokens in the cache")
    for number in range(2, 31):
        lab.next(number)
    lab.expect_text("1 prefill, 29 decodes · 69 tokens in the cache")
    trace = Trace.from_json(lab.exported("JSON"))
    assert [step.token_id for step in trace.steps] == _greedy(engine, prompt, 30)
    assert [step.phase for step in trace.steps] == ["prefill"] + ["decode"] * 29
    assert lab.tokens()[40:] == [visible(step.raw) for step in trace.steps]

    for number in (29, 28):
        lab.press("Step back")
        lab.expect_step(number)
    lab.page.get_by_role("slider", name="Step").fill("6")
    lab.expect_step(6)
    lab.press("Step back")
    lab.expect_step(5)
    old = trace.steps[4]
    other = next(row for row in old.candidates if row.token_id != old.token_id)
    lab.page.get_by_role("button", name="Next-token candidates as a table").click()
    lab.page.get_by_role("button", name=f"Force {visible(other.raw)}", exact=True).first.click()
    lab.expect_text("1 prefill, 4 decodes · 44 tokens in the cache")
    lab.next(6)
    forked = Trace.from_json(lab.exported("JSON"))
    assert forked.steps[4].token_id == other.token_id
    assert forked.steps[4].is_forced
    assert forked.steps[0] == trace.steps[0], "a fork must not run the prefill again"
    lab.expect_text("Compare branches (2)")


def test_play_runs_until_paused_and_reset_forgets(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    lab.press("Play")
    lab.expect_step_from(4)
    lab.press("Pause")
    expect(lab.button("Play")).to_be_enabled()
    lab.wait_idle()  # the step on its way is drawn after the button
    place = lab.page.get_by_text(re.compile(r"^step \d+ of ")).inner_text()
    lab.page.wait_for_timeout(1500)
    assert lab.page.get_by_text(re.compile(r"^step \d+ of ")).inner_text() == place
    lab.press("Reset")
    lab.expect_text("no step yet")


def test_the_end_token_stops_the_answer_and_is_named(visitor: LabPage) -> None:
    visitor.go(f"/step-through?prompt={quote('What is the capital of France?')}&chat=1&steps=40")
    visitor.expect_text("stopped: the model gave its end token")
    trace = Trace.from_json(visitor.exported("JSON"))
    assert trace.text == "The capital of France is Paris."
    assert trace.stop_reason == "end token"
    expect(visitor.button("Next token")).to_be_disabled()


def test_keys_step_and_a_held_key_shows_every_pass(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    lab.page.locator("h1").click()
    for key, step in (("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowRight", 2)):
        lab.page.keyboard.press(key)
        lab.expect_step(step)
        lab.wait_idle()  # the buttons that the next key presses are drawn after the step
    lab.page.evaluate(
        """() => { window.places = []; new MutationObserver(() => {
            const place = document.querySelector(".st-key-place").innerText.match(/step (\\d+) of/)?.[1]
            if (place && window.places.at(-1) !== place) window.places.push(place)
        }).observe(document.body, { childList: true, subtree: true, characterData: true }) }"""
    )
    lab.page.keyboard.down("ArrowRight")
    for _ in range(40):
        lab.page.keyboard.down("ArrowRight")  # a second `down` of a held key is a key repeat
        lab.page.wait_for_timeout(40)
    lab.page.keyboard.up("ArrowRight")
    lab.wait_all_answered()
    places = [int(place) for place in lab.page.evaluate("window.places")]
    assert places, "the held key did nothing"
    assert all(after - before == 1 for before, after in pairwise(places)), places
    lab.page.keyboard.press("Home")
    lab.expect_step(1)
    lab.page.keyboard.press("Escape")
    lab.page.wait_for_timeout(500)
    lab.expect_step(1)


def test_keys_typed_into_the_prompt_are_text_and_ctrl_enter_runs_it(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    lab.next(2)
    lab.page.get_by_role("textbox", name="Prompt").click()
    for key in ("Home", "ArrowRight", "Space", "ArrowLeft", "Escape"):
        lab.page.keyboard.press(key)
    lab.page.wait_for_timeout(1000)
    lab.expect_step(2)
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" never")
    lab.page.keyboard.press("Control+Enter")
    lab.expect_step(1)
    assert "never" in "".join(lab.tokens())


def test_a_keyboard_keeps_its_place_after_a_prefill_and_a_reset_can_be_undone(lab: LabPage) -> None:
    keyboard = Keyboard(lab)
    lab.page.get_by_role("textbox", name="Prompt").click()
    keyboard.tab_to(lambda focus: focus.label == "Prefill")
    lab.page.keyboard.press("Enter")
    lab.expect_step(1)
    expect(lab.page.locator(".st-key-prefill button")).to_be_focused()
    keyboard.tab_to(lambda focus: focus.label.startswith("Next token"))
    lab.page.keyboard.press("Enter")
    lab.expect_step(2)
    expect(lab.page.locator(".st-key-next button")).to_be_focused()
    lab.press("Reset")
    lab.expect_text("no step yet")
    lab.press("Undo reset")
    lab.expect_step(2)


def test_the_slider_only_looks(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    for number in range(2, 5):
        lab.next(number)
    slider = lab.page.get_by_role("slider", name="Step")
    slider.fill("2")
    lab.expect_step(2)
    slider.fill("60")
    lab.expect_step(4)
    slider.press("ArrowLeft")
    lab.expect_step(3)
    assert len(Trace.from_json(lab.exported("JSON")).steps) == 3, "an export holds the run as it is shown"
    lab.next(4)


def test_ten_fast_clicks_lose_and_double_nothing(lab: LabPage, engine: Engine) -> None:
    lab.prefill(PROMPT)
    for _ in range(10):
        lab.button("Next token").click(no_wait_after=True)
    lab.wait_all_answered()
    trace = Trace.from_json(lab.exported("JSON"))
    assert 2 <= len(trace.steps) <= 11
    assert [step.token_id for step in trace.steps] == _greedy(engine, PROMPT, len(trace.steps))


def test_a_reload_in_the_middle_of_play_finds_the_run_again(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    lab.press("Play")
    lab.expect_step_from(3)
    lab.reload()
    lab.expect_text(re.compile(r"^step \d+ of 64"))
    place = lab.page.get_by_text(re.compile(r"^step \d+ of ")).inner_text()
    number = int(place.split()[1])
    assert number >= 3
    expect(lab.page.get_by_role("textbox", name="Prompt")).to_have_value(PROMPT)
    lab.next(number + 1)


def test_another_page_in_the_middle_of_play_loses_nothing(lab: LabPage) -> None:
    lab.prefill(PROMPT)
    lab.press("Play")
    lab.expect_step_from(3)
    lab.page.get_by_role("link", name="Start here").click()
    lab.expect_text("An LLM answers in two phases")
    lab.page.get_by_role("link", name="Step through").click()
    lab.expect_text(re.compile(r"^step ([3-9]|\d\d) of 64"))
    expect(lab.page.get_by_role("textbox", name="Prompt")).to_have_value(PROMPT)


def test_the_link_reproduces_the_run_in_a_second_browser(lab: LabPage, visitor: LabPage) -> None:
    lab.set_prompt(PROMPT)
    lab.set_sampling("Temperature", "0.9")
    lab.set_sampling("Seed", "7")
    lab.prefill()
    for number in range(2, 6):
        lab.next(number)
    first = Trace.from_json(lab.exported("JSON"))
    lab.press("Export")
    link = lab.page.get_by_text(re.compile(r"\?prompt=")).first.inner_text()
    visitor.go(link.removeprefix(lab.address).replace("\n", ""))
    visitor.expect_step(5)
    second = Trace.from_json(visitor.exported("JSON"))
    assert [step.token_id for step in second.steps] == [step.token_id for step in first.steps]
    assert second.metadata.sampling == first.metadata.sampling


def test_an_exported_trace_opens_to_the_same_screen(lab: LabPage, other_lab: LabPage) -> None:
    lab.prefill(PROMPT)
    for number in range(2, 5):
        lab.next(number)
    lab.wait_drawn()
    content = lab.exported("JSON")
    other_lab.press("Export")
    files = other_lab.page.locator("input[type=file]")
    files.set_input_files({"name": "run.json", "mimeType": "application/json", "buffer": content.encode()})
    other_lab.expect_step(4)
    other_lab.page.keyboard.press("Escape")
    other_lab.wait_drawn()
    for selector in (".strip", ".st-key-card-pass .card", ".st-key-card-metrics .card"):
        assert other_lab.page.locator(selector).inner_text() == lab.page.locator(selector).inner_text()
    for key in CHARTS:
        figures = [page.page.evaluate(_FIGURE, f".st-key-{key} .tp-plot") for page in (lab, other_lab)]
        assert figures[0] == figures[1], key
    other_lab.press("Export")
    files.set_input_files({"name": "x.json", "mimeType": "application/json", "buffer": b'{"format": "other"}'})
    other_lab.expect_text(re.compile("This file cannot be opened"))


_FIGURE = "selector => JSON.stringify(document.querySelector(selector).data)"


def test_two_learners_step_at_once_and_never_see_each_other(lab: LabPage, other_lab: LabPage) -> None:
    lab.prefill("Apples are red")
    other_lab.prefill("Violets are blue")
    for number in range(2, 6):
        lab.press("Next token")
        other_lab.press("Next token")
        lab.expect_step(number)
        other_lab.expect_step(number)
    mine, theirs = "".join(lab.tokens()), "".join(other_lab.tokens())
    assert mine.startswith("Apples")
    assert theirs.startswith("Violets")
    assert "Violets" not in lab.page.content()
    assert "Apples" not in other_lab.page.content()


def test_markup_in_a_prompt_is_shown_literally_and_fetches_nothing(lab: LabPage) -> None:
    prompt = "<script>document.title='x'</script> <b>b</b> ![t](http://127.0.0.1:9/x.png) &lt; $a$ :red[x] </s>"
    lab.prefill(prompt)
    lab.next(2)
    lab.wait_drawn()
    shown = "".join(lab.tokens()).replace("␣", " ")
    assert shown.startswith(prompt)
    assert lab.page.title() != "x"
    assert json.loads(lab.exported("JSON"))["prompt"] == prompt
