"""What a plan chooses from lists: the model, the hardware, the engine class and a workload's lengths."""

from collections.abc import Callable

import streamlit as st

from inference import catalogue
from inference.arithmetic.spec import ModelSpec
from inference.planner.workloads import PRESETS
from pages.ui import state
from pages.ui.planner import fields
from pages.ui.planner.fields import key
from pages.ui.planner.own import here, model_by_numbers, model_from_config


def choices() -> tuple[str, str, str]:
    """Draw the three lists; what is no row of a catalogue comes first."""
    running, linked, brought = _running(), state.tab().plan.spec, state.tab().plan.machine
    models = {fields.NUMBERS: "Your own, by numbers", fields.PASTED: "Paste a config.json"}
    models |= {fields.RUNNING: f"Running here: {running.name}"} if running else {}
    models |= {fields.LINKED: f"From the link: {linked.name}"} if linked else {}
    models |= {name: spec.name for name, spec in catalogue.models().items()}
    machines = {fields.OWN: "Your own hardware"}
    machines |= {fields.HERE: "This machine, measured"} if here() else {}
    machines |= {fields.LINKED: f"From the link: {brought[0].name}"} if brought else {}
    machines |= {name: machine.name for name, machine in catalogue.hardware().items()}
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
            format_func=lambda option: options[option],
            key=key(name),
            width=width,
            on_change=on_change or "rerun",
            persist_state="session",
        )
    )


def preset() -> None:
    """The lengths of a use, to begin with."""
    names = {fields.UNNAMED: "Your own lengths"} | {name: workload.name for name, workload in PRESETS.items()}
    state.widget_default(_preset_key(), fields.UNNAMED)
    st.selectbox(
        "Workload",
        list(names),
        format_func=lambda name: names[name],
        key=_preset_key(),
        width=170,
        on_change=_take_preset,
        help="Lengths typical of a use, chosen by us: "
        + "; ".join(f"{workload.name.lower()}, {workload.why}" for workload in PRESETS.values())
        + ". Change them as you like.",
        persist_state="session",
    )


def _take_preset() -> None:
    chosen = PRESETS.get(str(state.widget_value(_preset_key())))
    if chosen:
        for name in ("prompt_tokens", "output_tokens", "concurrency"):
            state.set_widget(key(name), getattr(chosen, name))


def set_lengths_free() -> None:
    """A length was changed by hand: it is no preset's any more.

    A new list says so. Were the old one set to another value, a second change made before the browser has heard of
    that would choose the preset again, and undo both.
    """
    if state.widget_value(_preset_key()):
        state.tab().plan.preset += 1


def _preset_key() -> str:
    number = state.tab().plan.preset
    return key(f"preset-{number}") if number else key("preset")


def _running() -> ModelSpec | None:
    engine = state.laboratory().engine
    return engine.spec if engine else None


def own_model(model: str) -> ModelSpec | None:
    """The model that is no row of the catalogue; None for one that is. ValueError says what is wrong with it."""
    if model == fields.NUMBERS:
        return model_by_numbers()
    if model == fields.PASTED:
        return model_from_config()
    if model == fields.LINKED:
        return state.tab().plan.spec
    return _running() if model == fields.RUNNING else None
