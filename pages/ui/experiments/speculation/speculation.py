"""Speculative decoding round by round: a text with and without it, in turn; what was drafted and what stood."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from inference.arithmetic.units import significant
from inference.jobs.experiments import Job
from inference.speculation.draft import LOOK_UP, draft_name
from inference.speculation.jobs import own_job, speculation_job
from inference.speculation.presets import PRESETS
from inference.speculation.records import MOST_DRAFTED, NUM_DRAFTED, Speculated, SpeculationRequest
from pages.charts.speculation.rounds import rounds_chart
from pages.ui import state
from pages.ui.experiments.speculation.strip import speculation_strip
from pages.ui.experiments.speculation.text import (
    LEGEND,
    UNMEASURED,
    explanation,
    round_lines,
    rounds_table,
    sameness,
    summary,
    theorem,
)
from pages.ui.parts.card import text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import live_chart
from pages.ui.parts.measurement import finished, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_GAINS = Bins(((1.0, "slower"), (2.0, "1 to 2 times"), (4.0, "2 to 4 times")), "over 4 times")
PREDICTION = Prediction(
    "speculation",
    f"The model is to repeat a text. Each round looks up {NUM_DRAFTED} tokens in the prompt as a draft and "
    f"verifies them in one pass, so a pass can yield up to {NUM_DRAFTED + 1} tokens. How many times as fast as "
    "plain decoding is that here?",
    _GAINS.options,
)
SIZES = (1, 2, 3, 4, 6, NUM_DRAFTED, 12, 16, MOST_DRAFTED)
_OWN = "own"
_MOST_TOKENS, _MOST_CHARS = 128, 20_000
_LEGEND = "Filled: drafted and accepted. Dashed: chosen by the model itself. Hover to see the round."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SpeculationSettings:
    preset: str = "copy"
    """One of PRESETS, or `own` for a prompt of the learner's."""
    num_drafted: int = NUM_DRAFTED
    temperature: float | None = None
    """None: the preset's own."""
    draft: str = LOOK_UP
    prompt: str = ""
    """Of `own`."""
    max_new_tokens: int = 64
    """Of `own`."""


_DEFAULT = SpeculationSettings()


def speculation(
    settings: SpeculationSettings = _DEFAULT, *, key: str = "speculation", is_fixed: bool = False
) -> None:
    """The blocks of both ways, what they come to, and the text with its accepted tokens marked."""
    running, drawing = st.container(), framed(f"{key}-rounds")
    job = _asked(settings, key, is_fixed=is_fixed)
    with running:
        run = run_job(job, key=key, label="Run both ways")
    with drawing:
        _rounds(run, job.name, key)
    text_card(summary(run), key=f"{key}-summary")
    with st.container(key=f"{key}-words"):
        st.text(f"{explanation(run)}\n\n{theorem(run)}" if run and run.ending else UNMEASURED)
    with framed(f"{key}-text"):
        st.caption(_LEGEND)
        speculation_strip(run, key=f"{key}-strip")
        with st.container(key=f"{key}-same"):
            st.text(sameness(run) if run and run.ending else " ")


def _asked(settings: SpeculationSettings, key: str, *, is_fixed: bool) -> Job[Speculated]:
    """The row of settings, and for a prompt of one's own the field under it."""
    with row(key):
        titles = {name: preset.title for name, preset in PRESETS.items()} | {_OWN: "Your own prompt"}
        shared = Controls(key, is_fixed=is_fixed)
        preset = shared.select("Text", list(titles), settings.preset, format_func=lambda name: titles[name])
        num_drafted = shared.steps("Drafts a round, k", SIZES, settings.num_drafted, width=220)
        controls = Controls(f"{key}-{preset}", is_fixed=is_fixed)  # every text has a temperature of its own
        usual = PRESETS[preset].temperature if preset in PRESETS else 0.0
        is_chosen = preset == settings.preset and settings.temperature is not None
        start = float(settings.temperature or 0.0) if is_chosen else usual
        maximum = settings.max_new_tokens
        if preset == _OWN:
            maximum = controls.number("Maximum", maximum, 1, _MOST_TOKENS, width=120)
        temperature = controls.slider("Temperature", start, 0.0, 1.5, 0.1, width=170)
        small = draft_name()
        draft = shared.choice("Draft", (LOOK_UP, small), settings.draft) if small else LOOK_UP
    draft = draft or LOOK_UP
    if preset != _OWN:
        return speculation_job(preset, num_drafted, temperature, draft)
    if is_fixed:
        prompt = settings.prompt
        st.text(prompt)
    else:
        prompt = controls.text("Prompt", settings.prompt or _START, max_chars=_MOST_CHARS, height=92)
    drawn = SpeculationRequest(prompt, True, maximum, temperature, num_drafted=num_drafted, draft=draft)
    name = f"speculation of one's own in {key}: {num_drafted}, {temperature}, {maximum}, {draft}"
    return own_job(name, _at_the_click(drawn, f"{key}-{_OWN}-prompt"))


_START = "List the days of the week. Then list the days of the week again, in the same order."


def _at_the_click(drawn: SpeculationRequest, widget: str) -> Callable[[], SpeculationRequest]:
    """Text typed just before the button was pressed was not there when the page was drawn."""

    def asked() -> SpeculationRequest:
        prompt = state.widget_value(widget)
        return SpeculationRequest(
            prompt if isinstance(prompt, str) else drawn.prompt,
            drawn.chat_template,
            drawn.max_new_tokens,
            drawn.temperature,
            num_drafted=drawn.num_drafted,
            draft=drawn.draft,
        )

    return asked


def _rounds(run: Speculated | None, name: str, key: str) -> None:
    live_chart(
        lambda: rounds_chart(
            run, [round_lines(round_, number) for number, round_ in enumerate(run.rounds, 1)] if run else ()
        ),
        version=(name, run),
        key=f"{key}-rounds",
        title="Round by round",
        caption=LEGEND,
        alt="Blocks over time: each round of speculation with its accepted, own and rejected tokens; below them "
        "the steps of plain decoding.",
        table=lambda: rounds_table(run),
    )


def outcome() -> Outcome | None:
    """What the default run found; None before it."""
    run = finished(speculation_job("copy"))
    if run is None:
        return None
    return Outcome(
        _GAINS.name_of(run.gain),
        f"Measured here: {significant(run.gain)} times, with {significant(run.tokens_per_pass)} tokens per pass "
        f"and passes that take {significant(run.pass_cost)} times a plain step.",
    )
