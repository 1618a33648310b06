"""The only owner of `st.session_state`, of the cached laboratory, and of the callbacks.

Callbacks change state, pages draw what `screen` returns. What lives where: the run itself (its trace and KV
cache) belongs to the worker's `Runs` under the browser's name, so a reload finds it; which step a tab looks
at, whether it plays and what it last said belong to the tab.
"""

import re
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from inference.laboratory import Laboratory
from inference.params import SamplingParams
from inference.recipe import Recipe, from_query
from inference.replay import Replay
from inference.trace import Trace
from inference.worker import BusyError
from lessons import load_trace
from quizzes import Answer, Question, load_questions

LEARNER_COOKIE = "two_phases_learner"
PATIENCE_S = 1.5  # a page waits this long for a pass; after that it draws the wait and asks again
SPEEDS = {"slow": 0.6, "steady": 0.25, "fast": 0.0}  # seconds between passes while playing
EXAMPLES = {
    "The lighthouse": "The lighthouse keeper had not spoken to anyone for eleven days when, on the twelfth morning, "
    "a small boat with a torn grey sail came around the point and",
    "One question": "What is the capital of France?",
    "A list to continue": "Monday, Tuesday, Wednesday,",
    "Code": "def fibonacci(n):\n    ",
    "Characters in pieces": "Translate to emoji: a woman astronaut, a family, a rainbow flag. 👩‍🚀👨‍👩‍👧",
}


@dataclass(slots=True)
class Tab:
    """What one browser tab looks at."""

    shown: int | None = None
    """Index of the step on the screen; None follows the newest."""
    is_playing: bool = False
    target: int = 0
    """Steps still to be run without pause, as a link asked; 0 for none."""
    pending: "Future[Any] | None" = None
    pending_since_s: float = 0.0
    message: str = ""
    opened: Replay | None = None
    """A trace from a file, shown in place of the run."""
    answers: dict[str, Answer] = field(default_factory=dict)
    replay: Replay | None = None
    """The recording on Start here."""
    stamp: int = 0


@dataclass(frozen=True, slots=True)
class Screen:
    """All that the main screen draws."""

    trace: Trace | None
    """The whole run."""
    shown: int
    """Index of the step looked at; -1 before prefill."""
    is_recorded: bool
    is_busy: bool
    is_playing: bool
    queue_position: int
    waiting_s: float
    message: str
    branches: tuple[Trace, ...]

    @property
    def at(self) -> Trace | None:
        """The run as it stood at the step looked at."""
        return self.trace.until(self.shown) if self.trace and self.shown >= 0 else None

    @property
    def is_newest(self) -> bool:
        return self.trace is None or self.shown == len(self.trace.steps) - 1

    @property
    def can_go_on(self) -> bool:
        """Whether Next token has something to do: a step already recorded, or one more to decode."""
        if self.trace is None or self.shown < 0:
            return False
        return not self.is_newest or (self.trace.stop_reason is None and not self.is_recorded)


@st.cache_resource(show_spinner=False)
def laboratory() -> Laboratory:
    return Laboratory()


@st.cache_resource(show_spinner=False)
def questions() -> dict[str, Question]:
    return {question.id: question for question in load_questions()}


@st.cache_resource(show_spinner=False)
def recorded(name: str) -> Trace:
    return load_trace(name)


def tab() -> Tab:
    if "tab" not in st.session_state:
        st.session_state["tab"] = Tab()
    found: Tab = st.session_state["tab"]
    return found


def learner() -> str:
    """The browser's own random name, from its cookie; a session without cookies gets one of its own."""
    name = st.context.cookies.get(LEARNER_COOKIE, "")
    if re.fullmatch(r"[0-9a-f]{32}", name):
        return str(name)
    if "learner" not in st.session_state:
        st.session_state["learner"] = secrets.token_hex(16)
    return str(st.session_state["learner"])


def restore() -> None:
    """At the top of every run: start the model if nobody has, read a link once, and put defaults in the form."""
    laboratory().start()
    if "is_restored" in st.session_state:
        _keep_form()
        return
    st.session_state["is_restored"] = True
    recipe, problems = from_query({name: st.query_params.get_all(name) for name in st.query_params})
    run = _run_recipe()
    _fill_form(recipe or run or Recipe(prompt=EXAMPLES["The lighthouse"]))
    tab().message = " ".join(problems)
    if recipe and recipe.num_steps:
        st.session_state["link"] = recipe


def _run_recipe() -> Recipe | None:
    runs = laboratory().runs
    run = runs.get(learner()) if runs else None
    return Recipe.of(run.trace) if run else None


# What the pages read


def screen() -> Screen:
    """Take in what the worker has finished, then say what is to be drawn."""
    here = tab()
    _start_link()
    _settle(here)
    run = _live_run()
    if here.opened is not None:
        trace: Trace | None = here.opened.recorded
    else:
        trace = run.trace if run else None
    if trace is not None and trace.ceilings is None and here.opened is None:
        trace.ceilings = laboratory().ceilings
    last = len(trace.steps) - 1 if trace else -1
    here.shown = None if here.shown is not None and here.shown >= last else here.shown
    shown = last if here.shown is None else here.shown
    if here.is_playing and (trace is None or (shown == last and trace.stop_reason is not None)):
        here.is_playing, here.target = False, 0
    if here.target and last + 1 >= here.target:
        here.is_playing, here.target = False, 0
    pending = here.pending
    message = here.message
    if run and run.was_released and not message and here.opened is None:
        message = "This run's KV cache was given up for memory; the next token rebuilds it from the token ids first."
    return Screen(
        trace=trace,
        shown=shown,
        is_recorded=here.opened is not None,
        is_busy=pending is not None,
        is_playing=here.is_playing,
        queue_position=laboratory().worker.position(pending) if pending else 0,
        waiting_s=time.monotonic() - here.pending_since_s if pending else 0.0,
        message=message,
        branches=() if here.opened or run is None else tuple(run.branches),
    )


def form() -> Recipe:
    """The recipe the form spells. ValueError names what is wrong with it."""
    values = st.session_state
    bias = str(values["logit_bias"]).strip()
    spelled = SamplingParams.from_spelled(f"logit_bias={bias}") if bias else SamplingParams()
    params = SamplingParams(
        temperature=float(values["temperature"]),
        top_k=int(values["top_k"]),
        top_p=float(values["top_p"]),
        min_p=float(values["min_p"]),
        repetition_penalty=float(values["repetition_penalty"]),
        logit_bias=spelled.logit_bias,
        seed=int(values["seed"]),
        temperature_last=values["order"] == ORDERS[1],
    )
    stop = tuple(line for line in str(values["stop"]).splitlines() if line)
    return Recipe(
        prompt=str(values["prompt"]),
        params=params,
        max_new_tokens=int(values["max_new_tokens"]),
        chat_template=bool(values["chat_template"]),
        stop=stop,
    )


ORDERS = ("temperature, then the cuts", "the cuts, then temperature")


def page_address() -> str:
    """This page's address without its query, as the browser sees it."""
    return str(st.context.url or "").split("?")[0]


def draw_stamp() -> int:
    """Counts drawings, so that the browser can say which one it has finished."""
    here = tab()
    here.stamp += 1
    return here.stamp


def chart_shows_table(key: str) -> bool:
    return bool(_component_state(key).get("table"))


def picked(key: str) -> Mapping[str, Any]:
    """What was clicked in a component, inside its callback; empty if nothing readable came."""
    value = _component_state(key).get("picked")
    return value if isinstance(value, Mapping) else {}


def _component_state(key: str) -> Mapping[str, Any]:
    value = st.session_state.get(key)
    return value if isinstance(value, Mapping) else {}


# Callbacks of the main screen. `expected` is the number of steps the learner saw when they pressed.


def prefill() -> None:
    here = tab()
    if here.pending is not None:
        return
    try:
        recipe = form()
        runs = laboratory().runs
        if runs is None:
            raise BusyError("The model is still loading; a recorded run can be watched on Start here meanwhile.")
        _submit(runs.start(learner(), recipe))
    except (ValueError, BusyError) as error:
        here.message = _sentence(error)
        return
    here.shown, here.opened, here.is_playing = None, None, False


def next_token(shown: int) -> None:
    """Show the next recorded step, or decode one more."""
    here, run = tab(), _live_run()
    trace = here.opened.recorded if here.opened else run.trace if run else None
    last = len(trace.steps) - 1 if trace else -1
    current = last if here.shown is None else here.shown
    if here.pending is not None or current != shown or trace is None:
        return  # pressed twice, or on an older screen
    runs = laboratory().runs
    if current < last:
        if here.opened is None and runs and run and _changed_params(run.trace, current):
            _try(lambda: runs.branch(learner(), last + 1, index=current, params=form().params))
            here.shown = None
            return
        here.shown = current + 1
    elif here.opened is None and runs and run and not run.generation.finished:
        params = form().params if not here.target and _changed_params(run.trace, current) else None
        _try(lambda: runs.advance(learner(), last + 1, params=params))


def step_back(shown: int) -> None:
    here = tab()
    here.is_playing = False
    if shown > 0:
        here.shown = shown - 1


def jump() -> None:
    """The slider moved."""
    here = tab()
    here.is_playing = False
    here.shown = max(int(st.session_state["step"]) - 1, 0)


def jump_to_token(key: str) -> None:
    """A token or a bar was clicked."""
    index = picked(key).get("value")
    if isinstance(index, int) and index >= 0:
        tab().is_playing = False
        tab().shown = index


def first_step() -> None:
    tab().is_playing = False
    tab().shown = 0


def toggle_play(shown: int) -> None:
    here = tab()
    here.is_playing = not here.is_playing
    here.target = 0
    if here.is_playing:
        next_token(shown)


def tick(key: str) -> None:
    """The clock: the last step is on the screen, or a pass was waited for."""
    here = tab()
    told = _component_state(key).get("ticked")
    if here.pending is None and here.is_playing and isinstance(told, Mapping):
        expected = told.get("expected")
        if isinstance(expected, int):
            next_token(expected)


def reset() -> None:
    here, runs = tab(), laboratory().runs
    if here.opened is None and runs:
        runs.forget(learner())
    kept = here.answers
    st.session_state["tab"] = Tab(answers=kept, replay=here.replay, stamp=here.stamp)


def force(key: str) -> None:
    """A candidate was clicked: fork from the step on the screen."""
    here, run, runs = tab(), _live_run(), laboratory().runs
    token_id = picked(key).get("value")
    if run is None or runs is None or here.opened or here.pending or not isinstance(token_id, int):
        return
    steps = run.trace.steps
    index = len(steps) - 1 if here.shown is None else here.shown
    if picked(key).get("expected") != index or steps[index].token_id == token_id:
        return
    here.is_playing = False
    _try(lambda: runs.branch(learner(), len(steps), index=index, token_id=token_id, params=None))
    here.shown = None


def choose_example(name: str) -> None:
    st.session_state["prompt"] = EXAMPLES[name]
    st.session_state["chat_template"] = name == "One question" and _is_chat_model()


def open_trace() -> None:
    """A trace file was chosen."""
    upload = st.session_state.get("trace_file")
    if upload is None:
        return
    here = tab()
    try:
        trace = Trace.from_json(upload.getvalue())
    except ValueError as error:
        here.message = f"This file cannot be opened: {_sentence(error)}"
        return
    here.opened, here.shown, here.is_playing = Replay(trace, shown=len(trace.steps)), None, False
    here.message = "A recorded trace is open. Reset goes back to your own run."


def close_trace() -> None:
    tab().opened = None
    tab().message = ""
    tab().shown = None


def answer_of(question_id: str) -> Answer | None:
    return tab().answers.get(question_id)


def answer(question_id: str, widget_key: str) -> None:
    given = st.session_state.get(widget_key)
    try:
        grade = questions()[question_id].grade(given)
    except ValueError:
        return  # the question itself says what is missing
    tab().answers[question_id] = Answer(str(given), grade)


# Start here


def start_replay() -> Replay:
    here = tab()
    if here.replay is None:
        here.replay = Replay(recorded("lighthouse"), shown=1)
    return here.replay


def replay_tick(key: str) -> None:
    told = _component_state(key).get("ticked")
    replay = start_replay()
    if not isinstance(told, Mapping) or replay.finished:
        return
    if told.get("isCalm") is True:  # reduced motion: the result, without the show
        tab().replay = Replay(replay.recorded, shown=len(replay.recorded.steps))
    elif told.get("expected") == len(replay.trace.steps):
        replay.decode()


def replay_again() -> None:
    tab().replay = None


def retry_model() -> None:
    laboratory().start()


def measure_again() -> None:
    laboratory().measure_ceilings()


# Inside


def _live_run() -> Any:
    runs = laboratory().runs
    return runs.get(learner()) if runs else None


def _is_chat_model() -> bool:
    engine = laboratory().engine
    return engine is not None and engine.is_chat_model


def _changed_params(trace: Trace, index: int) -> bool:
    """Whether the form asks for other sampling than the step after `index` would have."""
    try:
        return form().params != trace.params_at(index + 1)
    except ValueError as error:
        tab().message = _sentence(error)
        return False


def _try(submit: Any) -> None:
    try:
        _submit(submit())
    except (BusyError, ValueError) as error:
        tab().message = _sentence(error)
        tab().is_playing = False


def _submit(future: "Future[Any]") -> None:
    here = tab()
    here.pending, here.pending_since_s, here.message = future, time.monotonic(), ""


def _settle(here: Tab) -> None:
    if here.pending is None:
        return
    try:
        here.pending.result(timeout=PATIENCE_S)
    except TimeoutError:
        return
    except CancelledError:
        here.message = "The pass was cancelled."
    except (ValueError, RuntimeError) as error:
        here.message, here.is_playing = _sentence(error), False
    here.pending = None


def _start_link() -> None:
    """Run what a link asked for, as soon as the model is there."""
    here, runs = tab(), laboratory().runs
    recipe = st.session_state.get("link")
    if recipe is None or runs is None or here.pending is not None:
        return
    del st.session_state["link"]
    engine = laboratory().engine
    _try(lambda: runs.start(learner(), recipe))
    here.target, here.is_playing, here.shown = recipe.num_steps, recipe.num_steps > 1, None
    if engine and recipe.model not in ("", engine.name):
        here.message = f"This link was made with another model ({recipe.model}); {engine.name} answers here."


def _fill_form(recipe: Recipe) -> None:
    params = recipe.changes[-1][1] if recipe.changes else recipe.params
    bias = ";".join(f"{token_id}:{value:g}" for token_id, value in (params.logit_bias or {}).items())
    values = {
        "prompt": recipe.prompt,
        "temperature": float(params.temperature),
        "top_k": params.top_k,
        "top_p": float(params.top_p),
        "min_p": float(params.min_p),
        "repetition_penalty": float(params.repetition_penalty),
        "logit_bias": bias,
        "seed": params.seed,
        "order": ORDERS[params.temperature_last],
        "max_new_tokens": recipe.max_new_tokens,
        "chat_template": recipe.chat_template,
        "stop": "\n".join(recipe.stop),
        "speed": "steady",
    }
    for name, value in values.items():
        st.session_state[name] = value


def _keep_form() -> None:
    """Streamlit forgets a widget's value when its page is left; writing it back keeps it."""
    for name in ("prompt", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "logit_bias", "seed",
                 "order", "max_new_tokens", "chat_template", "stop", "speed"):  # fmt: skip
        if name in st.session_state:
            st.session_state[name] = st.session_state[name]


def place_slider(number: int) -> None:
    st.session_state["step"] = number


def delay_s() -> float:
    here = tab()
    if here.pending is not None:
        return 0.3
    return 0.0 if here.target else SPEEDS.get(str(st.session_state.get("speed")), 0.25)


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")



def is_settling() -> bool:
    """Whether the machine card will soon have something new to say."""
    lab = laboratory()
    return lab.status.state == "loading" or lab.ceilings_fraction is not None
