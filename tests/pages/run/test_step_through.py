"""The main screen without a browser: what the buttons do and what the texts say."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from inference.run.recipe import Recipe
from inference.run.tokens import TokenBytes
from inference.trace import Trace
from pages.ui.run.controls import changed
from tests.inference.incomplete import GS, without
from tests.pages.conftest import open_step_through
from tests.pages.labs import laboratory


def _texts(app: AppTest) -> str:
    return "\n".join(str(text.value) for text in app.text)


def _press(app: AppTest, key: str) -> AppTest:
    app.button(key).click()
    return app.run()


def _trace(app: AppTest) -> Trace:
    runs = laboratory().runs
    assert runs is not None
    run = runs.get(app.session_state["learner"])
    assert run is not None
    return run.trace


def test_the_page_opens_with_a_prompt_and_nothing_run(step_through: AppTest) -> None:
    assert not step_through.exception
    assert str(step_through.text_area("prompt").value).startswith("The lighthouse keeper")
    assert "no step yet" in _texts(step_through)
    assert step_through.button("next").disabled


def test_one_prefill_and_decodes_are_counted_as_they_happen(step_through: AppTest) -> None:
    step_through.text_area("prompt").set_value("x" * 40)
    _press(step_through, "prefill")
    for _ in range(4):
        _press(step_through, "next")
    assert not step_through.exception
    assert "step 5 of 64" in _texts(step_through)
    assert "1 prefill, 4 decodes · 44 tokens in the cache" in _texts(step_through)


def test_step_back_shows_an_earlier_step_and_next_shows_the_recorded_one_again(step_through: AppTest) -> None:
    _press(step_through, "prefill")
    _press(step_through, "next")
    before = [step.forward_s for step in _trace(step_through).steps]
    _press(step_through, "back")
    assert "step 1 of 64" in _texts(step_through)
    _press(step_through, "next")
    assert "step 2 of 64" in _texts(step_through)
    assert [step.forward_s for step in _trace(step_through).steps] == before


def test_reset_takes_the_run_away_keeps_the_prompt_and_can_be_undone(step_through: AppTest) -> None:
    step_through.text_area("prompt").set_value("Keep me")
    _press(step_through, "prefill")
    _press(step_through, "next")
    before = _trace(step_through)
    _press(step_through, "reset")
    assert "no step yet" in _texts(step_through)
    assert "The run was reset." in _texts(step_through)
    assert step_through.text_area("prompt").value == "Keep me"
    _press(step_through, "undo")
    assert "step 2 of 64" in _texts(step_through)
    assert _trace(step_through) == before
    _press(step_through, "next")
    assert "step 3 of 64" in _texts(step_through)


def test_a_new_prefill_ends_what_can_be_undone(step_through: AppTest) -> None:
    _press(step_through, "prefill")
    _press(step_through, "reset")
    _press(step_through, "prefill")
    assert "undo" not in [button.key for button in step_through.button]
    assert "step 1 of 64" in _texts(step_through)


def test_a_reset_during_a_prefill_puts_the_run_that_comes_aside_too(step_through: AppTest) -> None:
    lab, name = laboratory(), str(step_through.session_state["learner"])
    assert lab.runs
    may_go_on, has_begun = threading.Event(), threading.Event()

    def held_up(queue_s: float) -> None:
        has_begun.set()
        may_go_on.wait(20)
        lab.runs.keep(name, run)  # type: ignore[union-attr]  # as the last line of a prefill does

    run = lab.runs.start("another", Recipe("Another prompt")).result(20)
    step_through.session_state["tab"].run.pending = lab.worker.submit(held_up)
    assert has_begun.wait(20)
    try:
        step_through.run()
        _press(step_through, "reset")
    finally:
        may_go_on.set()
    lab.worker.submit(lambda queue_s: None).result(20)
    assert lab.runs.get(name) is None
    step_through.run()
    _press(step_through, "undo")
    assert lab.runs.get(name) is run


def test_what_only_a_prefill_takes_up_is_said_until_there_is_one(step_through: AppTest) -> None:
    _press(step_through, "prefill")
    for key, value, said in (
        ("prompt", "Something else", "The prompt has changed: Prefill starts it."),
        ("chat_template", True, "The chat template has changed: Prefill starts it."),
        ("stop", "end", "The stop strings have changed: Prefill starts them."),
        ("max_new_tokens", 12, "The maximum has changed: Prefill starts it."),
    ):
        assert "changed" not in _texts(step_through), key
        step_through.get_by_key(key).set_value(value)  # type: ignore[union-attr]
        _press(step_through, "next")
        assert said in _texts(step_through)
        assert "step 2 of 64" in _texts(step_through), key
        _press(step_through, "prefill")
    assert "changed" not in _texts(step_through)


def test_several_changes_are_said_in_one_sentence() -> None:
    assert changed(("the prompt", "the maximum")) == "The prompt and the maximum have changed: Prefill starts them."
    assert changed(("the prompt", "the maximum", "the stop strings")).startswith(
        "The prompt, the maximum and the stop"
    )


def test_no_key_ends_a_run(step_through: AppTest) -> None:
    shortcuts = {button.key: button.proto.shortcut for button in step_through.button if button.proto.shortcut}
    assert shortcuts == {"back": "left", "next": "right", "play": "space", "first": "home"}


def test_changed_settings_at_an_earlier_step_continue_differently_and_keep_the_old_branch(
    step_through: AppTest,
) -> None:
    _press(step_through, "prefill")
    for _ in range(3):
        _press(step_through, "next")
    old = [step.token_id for step in _trace(step_through).steps]
    _press(step_through, "first")
    step_through.number_input("temperature").set_value(5.0)
    _press(step_through, "next")
    trace = _trace(step_through)
    assert len(trace.steps) == 2
    assert trace.params_at(1).temperature == 5.0
    assert trace.params_at(0).is_greedy
    assert trace.steps[0].token_id == old[0]
    assert [expander.label for expander in step_through.expander] == ["Compare branches (2)"]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", "The prompt is empty"),
        ("  \n ", "The prompt is empty"),
        ("x" * 200_000, "200,000 characters"),
        ("x" * 600, "the model's context holds 512"),
    ],
)
def test_a_prompt_that_cannot_run_is_refused_with_a_sentence_and_costs_nothing(
    step_through: AppTest, prompt: str, words: str
) -> None:
    step_through.text_area("prompt").set_value("first")
    _press(step_through, "prefill")
    step_through.text_area("prompt").set_value(prompt)
    _press(step_through, "prefill")
    assert words in _texts(step_through)
    assert _trace(step_through).prompt == "first"
    assert step_through.text_area("prompt").value == prompt


def test_characters_without_a_token_are_said_beside_the_step(
    step_through: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, tokenizer = laboratory().engine, without(GS)
    monkeypatch.setattr(engine, "tokenizer", tokenizer)
    monkeypatch.setattr(engine, "token_bytes", TokenBytes(tokenizer))
    step_through.text_area("prompt").set_value("]d20104012345\x1d10ABC\x1d21XYZ")
    _press(step_through, "prefill")
    assert "2 characters have no token and are left out" in _texts(step_through)
    step_through.text_area("prompt").set_value("\x1d")
    _press(step_through, "prefill")
    assert "has no token for any character of the prompt (U+001D)" in _texts(step_through)


def test_a_link_fills_the_form_and_runs_to_its_step(app: AppTest) -> None:
    app.query_params.update({"prompt": "Hello", "max": "20", "steps": "1", "sampling": "temperature=0.5,seed=3"})
    open_step_through(app)
    assert not app.exception
    assert app.text_area("prompt").value == "Hello"
    assert app.number_input("temperature").value == 0.5
    assert "step 1 of 20" in _texts(app)


@pytest.mark.parametrize(
    "query",
    [
        {"prompt": "Hi", "max": "-1", "steps": "NaN"},
        {"prompt": "Hi", "sampling": "temperature=hot"},
        {"prompt": "Hi", "sampling": "seed=x", "forced": "1:2:3", "change": "::"},
        {"prompt": "Hi", "chat": "maybe", "stop": ""},
        {"step": "5", "model": "../../etc/passwd", "role": "teacher"},
    ],
)
def test_rubbish_in_a_link_is_said_or_ignored_and_never_breaks_the_page(
    app: AppTest, query: dict[str, str]
) -> None:
    app.query_params.update(query)
    open_step_through(app)
    assert not app.exception
    assert app.text_area("prompt").value == query.get("prompt", app.text_area("prompt").value)


def test_text_that_looks_like_markup_is_shown_as_text_everywhere(step_through: AppTest) -> None:
    step_through.text_area("prompt").set_value(
        "<script>alert(1)</script> ![x](http://127.0.0.1:9/x.png) $a^2$ :red[x]"
    )
    _press(step_through, "prefill")
    assert not step_through.exception
    for markdown in step_through.markdown:
        assert "<script>" not in markdown.value
        assert "127.0.0.1:9" not in markdown.value


def test_the_three_questions_of_the_seeds_answer_in_place(step_through: AppTest) -> None:
    step_through.radio("answer-which-phase-ttft").set_value("prefill").run()
    _press(step_through, "check-which-phase-ttft")
    assert any("Right." in markdown.value for markdown in step_through.markdown)
