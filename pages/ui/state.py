"""The only owner of `st.session_state` and of the cached laboratory.

What lives where: a run (its trace and KV cache) belongs to the worker's `Runs` under the browser's name, so a
reload finds it; which step a tab looks at, whether it plays and what it last said are the tab's own.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs

import streamlit as st

from inference.run.recipe import Recipe, from_query
from inference.server.elsewhere import LaboratoryElsewhere
from inference.trace import Trace
from lessons import load_trace
from pages.ui.form import EXAMPLES, FIELDS, SPEEDS, form_values, read_form, unlike
from pages.ui.screen import sentence
from pages.ui.serving import cookies
from pages.ui.serving.addresses import slug
from pages.ui.tab import ClassView, Tab
from quizzes import Problem, Question, open_quizzes

if TYPE_CHECKING:
    from inference.server.owned import Run

T = TypeVar("T")
START_RECORDING = "lighthouse"
"""The run that Start here replays."""
MAX_LEARNERS_REMEMBERED = 1_000


@st.cache_resource(show_spinner=False)
def laboratory() -> LaboratoryElsewhere:
    return LaboratoryElsewhere()


@st.cache_resource(show_spinner=False)
def quizzes() -> tuple[dict[str, list[Question]], list[Problem]]:
    """The questions by quiz, and what is wrong with those that are left out."""
    return open_quizzes()


def questions() -> dict[str, Question]:
    return {question.id: question for quiz in quizzes()[0].values() for question in quiz}


@st.cache_resource(show_spinner=False)
def recorded(name: str) -> Trace:
    return load_trace(name)


def learner() -> str:
    """The browser's own random name, from its cookie; a session without cookies gets one of its own."""
    if name := cookies.name_in(st.context.cookies):
        return name
    if "learner" not in st.session_state:
        st.session_state["learner"] = cookies.new_name()
    return str(st.session_state["learner"])


def tab() -> Tab:
    if "tab" not in st.session_state:
        st.session_state["tab"] = Tab()
    tab: Tab = st.session_state["tab"]
    return tab


def keep_newest(everyone: "OrderedDict[str, T]", name: str, value: T) -> None:
    """Remember this of a browser, and forget those not heard of for longest once there are too many."""
    everyone.pop(name, None)
    everyone[name] = value
    while len(everyone) > MAX_LEARNERS_REMEMBERED:
        everyone.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _guesses() -> "OrderedDict[str, dict[str, str]]":
    """By learner's key, what they predicted while this server runs; the database keeps it beyond that."""
    return OrderedDict()


def guess(key: str, prediction_id: str) -> str | None:
    return _guesses().get(key, {}).get(prediction_id)


def keep_guess(key: str, prediction_id: str, value: str) -> None:
    everyone = _guesses()
    keep_newest(everyone, key, everyone.get(key, {}) | {prediction_id: value})


def forget_guesses(key: str) -> None:
    _guesses().pop(key, None)


def live_run() -> "Run | None":
    """This learner's run, found again after a reload; None before the first prefill and after a reset."""
    runs = laboratory().runs
    return runs.get(learner()) if runs else None


def restore() -> None:
    """At the top of every run: in a new tab, fill the form."""
    if "tab" in st.session_state:
        _keep_form()
        return
    tab().classroom.code = str(st.query_params.get("class", ""))
    recipe, problems = from_query({name: st.query_params.get_all(name) for name in st.query_params})
    drawing = tab().drawing
    drawing.query, drawing.view = dict(st.query_params), slug(str(st.query_params.get("view", "")))
    run = live_run()
    set_form(recipe or (Recipe.of(run.trace) if run else Recipe(prompt=EXAMPLES["The lighthouse"])))
    tab().run.message = " ".join(sentence(problem) for problem in problems)
    if recipe and run and recipe.is_done_in(run.trace):  # a reload finds the run, it does not start it over
        tab().run.shown = recipe.num_steps - 1
    elif recipe and recipe.num_steps:
        tab().run.link = recipe


def show_in_address(query: str) -> None:
    """What is on the screen, as the address's parameters: it can be copied and opened again."""
    wanted = parse_qs(query)
    if {name: st.query_params.get_all(name) for name in st.query_params} != wanted:
        st.query_params.from_dict(wanted)


def begin_anew() -> None:
    """Forget all that this tab holds but whose it is; the form is as on a first visit."""
    old = tab()
    for name in list(st.session_state):
        if name != "learner":
            del st.session_state[name]
    st.session_state["tab"] = Tab(key=old.key, classroom=ClassView(old.classroom.code))
    set_form(Recipe(prompt=EXAMPLES["The lighthouse"]))


def form() -> Recipe:
    """The recipe the form spells. ValueError names what is wrong with it."""
    return read_form({name: st.session_state[name] for name in FIELDS})


def unlike_form(trace: Trace) -> tuple[str, ...]:
    """What the form says otherwise than this run, and only a new prefill can take up."""
    return unlike({name: st.session_state[name] for name in FIELDS}, Recipe.of(trace))


def set_form(recipe: Recipe) -> None:
    for name, value in ({"speed": "steady"} | form_values(recipe)).items():
        st.session_state[name] = value


def open_recipe(recipe: Recipe) -> None:
    """Fill the form, and run as far as the recipe says when the main screen is next drawn."""
    set_form(recipe)
    tab().run.link = recipe if recipe.num_steps else None


def _keep_form() -> None:
    """Streamlit forgets a widget's value when its page is left; writing it back keeps it."""
    for name in FIELDS:
        if name in st.session_state:
            st.session_state[name] = st.session_state[name]


def set_prompt(prompt: str, *, chat_template: bool) -> None:
    st.session_state["prompt"], st.session_state["chat_template"] = prompt, chat_template


def pause_between_passes_s() -> float:
    return SPEEDS.get(str(st.session_state.get("speed")), SPEEDS["steady"])


def uploaded(key: str) -> bytes | None:
    upload = st.session_state.get(key)
    return None if upload is None else bytes(upload.getvalue())


def widget_value(key: str) -> object:
    return st.session_state.get(key)


def set_widget(key: str, value: object) -> None:
    """In a callback, before the widget is drawn again."""
    st.session_state[key] = value


def widget_default(key: str, value: object) -> None:
    """What a widget without a value of its own begins with."""
    st.session_state.setdefault(key, value)


def asked_view() -> str:
    """The view that the address named as the tab was opened, once."""
    drawing = tab().drawing
    asked, drawing.view = drawing.view, ""
    return asked


def take_query() -> dict[str, str]:
    """The address's parameters as the tab was opened, once."""
    drawing = tab().drawing
    query, drawing.query = drawing.query, {}
    return query


def told(key: str, event: str) -> Mapping[str, Any]:
    """What a component reported, inside its callback; empty if nothing readable came."""
    value = _component_state(key).get(event)
    return value if isinstance(value, Mapping) else {}


def told_index(key: str, event: str, name: str = "value") -> int | None:
    """The whole number in what a component reported; None for anything else, as a socket may send anything."""
    number = told(key, event).get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def chart_shows_table(key: str) -> bool:
    return bool(_component_state(key).get("table"))


def _component_state(key: str) -> Mapping[str, Any]:
    value = st.session_state.get(key)
    return value if isinstance(value, Mapping) else {}


def remembered(key: str, version: object, make: Callable[[], T]) -> T:
    """What was made for `key` at this version; made again only when the version is another."""
    remembered = tab().drawing.remembered
    if key not in remembered or remembered[key][0] != version:
        remembered[key] = (version, make())
    value: T = remembered[key][1]
    return value


def draw_stamp() -> int:
    """Counts drawings, so that the browser can say which one it has finished."""
    drawing = tab().drawing
    drawing.stamp += 1
    return drawing.stamp


def page_address() -> str:
    """This page's address without its query, as the browser sees it."""
    return str(st.context.url or "").split("?")[0]
