"""The planner's settings, in one block: what is asked for, what serves it, and what is assumed of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import streamlit as st

from inference import catalogue
from inference.planner.link import from_query, is_plan
from inference.planner.settings import PlanSettings
from pages.ui import state
from pages.ui.planner import fields
from pages.ui.planner.choices import choices, own_model, preset, set_lengths_free
from pages.ui.planner.fields import key
from pages.ui.planner.own import here, machine_by_numbers
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
_SPOKEN = {
    **LABELS,
    "bandwidth_share": "share of the bandwidth",
    "layer_us": "time per layer",
    "flops_share": "share of the FLOP/s",
    "attention_share": "share of the FLOP/s in attention",
    "is_overlapped": "overlap",
    "all_reduce_us": "one all-reduce",
    "link_gb_s": "link",
    "memory_gb": "memory",
    "bandwidth_gb_s": "bandwidth",
    "tflops_16bit": "16-bit peak",
    "tflops_fp8": "FP8 peak",
    "tflops_fp32": "FP32 peak",
    "tdp_w": "TDP",
}


def by_label(problem: str) -> str:
    """A message with the form's words for its fields; those of a config.json keep the file's names."""
    return fields.named(problem, _SPOKEN)


def open_link() -> None:
    """On the first visit: fill the form from the address, or with the worked example."""
    query, tab = state.take_query(), state.tab()
    settings = PlanSettings()
    if is_plan(query):
        settings, problems = from_query(query)
        tab.plan.spec = settings.own_model
        if settings.own_hardware and settings.measured:
            tab.plan.machine = (settings.own_hardware, settings.measured)
        tab.plan.problems = tuple(sentence(by_label(problem)) for problem in problems)
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
        model, machine, engine = choices()
    with _line("work"):
        preset()
        numbers: dict[str, float] = {
            name: _whole(name, 118) for name in ("prompt_tokens", "output_tokens", "concurrency")
        }
        numbers |= {name: _bits(name) for name in fields.BITS}
    with _line("served"):
        numbers |= {name: _whole(name, 130) for name in ("tensor_parallel", "pipeline_parallel", "replicas")}
        price = _price()
    own = form.tried(lambda: own_model(model))
    own_machine = form.tried(machine_by_numbers) if machine == fields.OWN else None
    measured = {fields.HERE: here(), fields.LINKED: state.tab().plan.machine}.get(machine)
    if measured:
        own_machine = measured[0]
    elif machine == fields.HERE:
        form.problems.append("This machine's roofs are not measured yet; choose another meanwhile.")
    settings = PlanSettings(
        model=model if model in catalogue.models() else PlanSettings().model,
        hardware=machine if machine in catalogue.hardware() else PlanSettings().hardware,
        engine=engine,
        own_model=own,
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


def _whole(name: str, width: int) -> int:
    is_length = name in ("prompt_tokens", "output_tokens", "concurrency")
    return st.number_input(
        LABELS[name],
        key=key(name),
        step=1,
        width=width,
        on_change=set_lengths_free if is_length else "rerun",
        persist_state="session",
    )


def _bits(name: str) -> float:
    return st.number_input(LABELS[name], key=key(name), step=1.0, format="%.4g", width=105, persist_state="session")
