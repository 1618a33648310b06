"""The planner's settings, in one block: what is asked for, what serves it, and what is assumed of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import streamlit as st

from inference import catalogue
from inference.plan_link import from_query, is_plan
from inference.plan_settings import PlanSettings
from inference.spec import ModelSpec
from inference.workloads import PRESETS
from pages.ui import state
from pages.ui.planner import fields
from pages.ui.planner.fields import key
from pages.ui.planner.own import here, machine_by_numbers, model_by_numbers, model_from_config
from pages.ui.planner.rates import with_rates
from pages.ui.screen import sentence

T = TypeVar("T")
LABELS = {
    "prompt_tokens": "Prompt tokens",
    "output_tokens": "Output tokens",
    "concurrency": "Conversations",
    "tensor_parallel": "Tensor parallel",
    "pipeline_parallel": "Pipeline stages",
    "replicas": "Replicas",
    "weight_bits": "Weight bits",
    "kv_bits": "Cache bits",
}


def by_label(problem: str) -> str:
    """The arithmetic names a field as code does; the form has its label."""
    for name, label in LABELS.items():
        problem = problem.replace(name, label)
    return problem


def open_link() -> None:
    """On the first visit: fill the form from the address, or with the worked example."""
    query, tab = state.take_query(), state.tab()
    settings = PlanSettings()
    if is_plan(query):
        settings, problems = from_query(query)
        tab.plan_spec = settings.own_model
        if settings.own_hardware and settings.measured:
            tab.plan_machine = (settings.own_hardware, settings.measured)
        tab.plan_problems = tuple(sentence(by_label(problem)) for problem in problems)
        for name, value in fields.form_values(settings).items():
            state.set_widget(name, value)
    for name, value in fields.form_values(PlanSettings()).items():
        state.widget_default(name, value)


@dataclass(slots=True)
class Form:
    """What the form says: settings, or what is wrong with them."""

    settings: PlanSettings | None = None
    problems: list[str] = field(default_factory=list)

    def tried(self, make: Callable[[], T]) -> T | None:
        """What `make` gives; a mistake in it costs the plan and not the rest of the form."""
        try:
            return make()
        except ValueError as error:
            self.problems.append(sentence(by_label(str(error))))
            return None


def plan_form() -> Form:
    """Draw the form and read it."""
    form = Form()
    with _line("what"):
        model, machine, engine = _choices()
    with _line("work"):
        _preset()
        numbers: dict[str, float] = {
            name: _whole(name, 118) for name in ("prompt_tokens", "output_tokens", "concurrency")
        }
        numbers |= {name: _bits(name) for name in fields.BITS}
    with _line("served"):
        numbers |= {name: _whole(name, 130) for name in ("tensor_parallel", "pipeline_parallel", "replicas")}
        price = _price()
    own_model = form.tried(lambda: _own_model(model))
    own_machine = form.tried(machine_by_numbers) if machine == fields.OWN else None
    measured = {fields.HERE: here(), fields.LINKED: state.tab().plan_machine}.get(machine)
    if measured:
        own_machine = measured[0]
    elif machine == fields.HERE:
        form.problems.append("This machine's roofs are not measured yet; choose another meanwhile.")
    settings = PlanSettings(
        model=model if model in catalogue.models() else PlanSettings().model,
        hardware=machine if machine in catalogue.hardware() else PlanSettings().hardware,
        engine=engine,
        own_model=own_model,
        own_hardware=own_machine,
        measured=measured[1] if measured else None,
        price=price,
    )
    settings = replace(settings, **numbers)  # type: ignore[arg-type]  # by name
    with st.expander("Efficiency and link: the values, and where they come from", key="planner-efficiency"):
        settings = with_rates(settings, machine)
    form.settings = None if form.problems else settings
    return form


def _line(name: str) -> "st.delta_generator.DeltaGenerator":
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"planner-{name}")


def _price() -> float | None:
    return st.number_input(
        "Price per accelerator and hour",
        value=None,
        key=key("price"),
        step=0.1,
        placeholder="not known",
        width=220,
        persist_state="session",
    )


def _choices() -> tuple[str, str, str]:
    running, linked, brought = _running(), state.tab().plan_spec, state.tab().plan_machine
    models = {fields.NUMBERS: "Your own, by numbers", fields.PASTED: "Paste a config.json"}
    models |= {fields.RUNNING: f"Running here: {running.name}"} if running else {}
    models |= {fields.LINKED: f"From the link: {linked.name}"} if linked else {}
    models |= {name: spec.name for name, spec in catalogue.models().items()}
    machines = {fields.OWN: "Your own hardware"}
    machines |= {fields.HERE: "This machine, measured"} if here() else {}
    machines |= {fields.LINKED: f"From the link: {brought[0].name}"} if brought else {}
    machines |= {name: one.name for name, one in catalogue.hardware().items()}
    return (
        _select("model", "Model", models, 250, _take_widths),
        _select("hardware", "Hardware", machines, 290, _take_machine),
        _select("engine", "Engine class", fields.ENGINES, 300),
    )


def _take_machine() -> None:
    """This machine runs the eager stack that its shares were measured in."""
    if state.widget_value(key("hardware")) == fields.HERE:
        state.set_widget(key("engine"), "eager")
    _take_widths()


def _take_widths() -> None:
    """The running model and this machine come with the widths they run at; leaving both gives up theirs alone."""
    running = _running()
    if running is None:
        return
    chosen = (state.widget_value(key("model")), state.widget_value(key("hardware")))
    is_here = chosen[0] == fields.RUNNING or chosen[1] == fields.HERE
    for name in fields.BITS:
        own = float(getattr(running, name))
        if is_here or state.widget_value(key(name)) == own:
            state.set_widget(key(name), own if is_here else 16.0)


def _select(
    name: str, label: str, options: dict[str, str], width: int, on_change: Callable[[], None] | None = None
) -> str:
    return str(
        st.selectbox(
            label,
            list(options),
            format_func=lambda one: options[one],
            key=key(name),
            width=width,
            on_change=on_change or "rerun",
            persist_state="session",
        )
    )


def _preset() -> None:
    names = {fields.UNNAMED: "Your own lengths"} | {name: one.name for name, one in PRESETS.items()}
    st.selectbox(
        "Workload",
        list(names),
        format_func=lambda one: names[one],
        key=key("preset"),
        width=170,
        on_change=_take_preset,
        help="Lengths typical of a use, chosen by us: "
        + "; ".join(f"{one.name.lower()}, {one.why}" for one in PRESETS.values())
        + ". Change them as you like.",
        persist_state="session",
    )


def _take_preset() -> None:
    chosen = PRESETS.get(str(state.widget_value(key("preset"))))
    if chosen:
        for name in ("prompt_tokens", "output_tokens", "concurrency"):
            state.set_widget(key(name), getattr(chosen, name))


def _whole(name: str, width: int) -> int:
    is_length = name in ("prompt_tokens", "output_tokens", "concurrency")
    return st.number_input(
        LABELS[name],
        key=key(name),
        step=1,
        width=width,
        on_change=_lengths_are_own if is_length else "rerun",
        persist_state="session",
    )


def _lengths_are_own() -> None:
    state.set_widget(key("preset"), fields.UNNAMED)


def _bits(name: str) -> float:
    return st.number_input(LABELS[name], key=key(name), step=1.0, format="%.4g", width=105, persist_state="session")


def _running() -> ModelSpec | None:
    engine = state.laboratory().engine
    return engine.spec if engine else None


def _own_model(model: str) -> ModelSpec | None:
    if model == fields.NUMBERS:
        return model_by_numbers()
    if model == fields.PASTED:
        return model_from_config()
    if model == fields.LINKED:
        return state.tab().plan_spec
    return _running() if model == fields.RUNNING else None
