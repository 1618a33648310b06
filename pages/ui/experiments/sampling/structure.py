"""Structured output: a constraint to edit, the model under its mask, and what the mask did at every token."""

from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from inference.files.json_text import json_text
from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.structure.examples import EXAMPLES, Example
from inference.structure.job import structured_job
from inference.structure.records import Constraint, StructuredRequest, StructuredRun
from pages.charts.sampling.structured import feasible_mass, step_costs
from pages.ui import state
from pages.ui.experiments.sampling.masked_strip import masked_strip, picked_step
from pages.ui.experiments.sampling.structure_text import (
    COLUMNS,
    LEGEND,
    cost,
    cost_table,
    influence,
    mass_table,
    step_table,
    step_title,
    step_words,
    telling_step,
    verdict,
)
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import data_table
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, chart_card, live_chart
from pages.ui.parts.measurement import run_job

_LARGEST_TYPED = 2_000_000  # characters; what is too large for a constraint still arrives, and is refused in words
_MOST_TOKENS, _LARGEST_SEED = 512, 2**31 - 1
_HINT = "The output appears here, token by token. Press Generate."
_NO_STEP = "Choose a token of the output to see what stood beside it, without the mask and with it."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StructureSettings:
    example: str = "person"
    """Id of an example; its constraint and prompt hold where the next two are empty."""
    source: str = ""
    prompt: str = ""
    max_new_tokens: int = 96
    temperature: float = 0.0
    seed: int = 0
    is_masked: bool = True


_DEFAULT = StructureSettings()


def structure(settings: StructureSettings = _DEFAULT, *, key: str = "structure", is_fixed: bool = False) -> None:
    """The editor beside the output; below, the chosen token's candidates and the cost of the mask."""
    with row(key):
        titles = {name: example.title for name, example in EXAMPLES.items()}
        chosen = Controls(key, is_fixed=is_fixed).select(
            "Example", list(titles), settings.example, format_func=lambda name: titles[name], width=260
        )
        example = _example(chosen, settings)
        prefix = f"{key}-{chosen}"  # every example keeps its own edits and its own output
        controls = Controls(prefix, is_fixed=is_fixed)
        maximum = controls.number("Maximum", settings.max_new_tokens, 1, _MOST_TOKENS, width=120)
        temperature = controls.slider("Temperature", settings.temperature, 0.0, 2.0, 0.1, width=170)
        seed = controls.number("Seed", settings.seed, 0, _LARGEST_SEED, width=120)
        is_masked = controls.toggle("Mask", settings.is_masked)
    left, right = st.columns([3, 4])
    with left:
        constraint, prompt = _editor(controls, example, is_fixed=is_fixed)
        recipe = Recipe(prompt, SamplingParams(temperature=temperature, seed=seed), maximum)
        drawn = StructuredRequest(constraint, recipe, is_masked)
        job = structured_job(f"structured output {prefix}", lambda: _asked(prefix, drawn))
        run = run_job(job, key=f"{key}-run", label="Generate")
    picked = picked_step(run, key=f"{key}-strip") if run else None
    shown = picked if picked is not None else telling_step(run) if run else 0
    with right, framed(f"{key}-output"):
        st.caption(LEGEND)
        masked_strip(run, shown=shown, key=f"{key}-strip", hint=_HINT)
        with st.container(key=f"{key}-verdict"):
            st.text(_words(run, example))
        _mass_chart(run, shown, key)
    left, right = st.columns([3, 2])
    with left, framed(f"{key}-step"):
        _step(run, shown, key)
    with right:
        _cost_chart(run, key)


def _example(name: str, settings: StructureSettings) -> Example:
    """The chosen one; the settings' own texts stand in their example's place."""
    example = EXAMPLES[name]
    if name != settings.example or not (settings.source or settings.prompt):
        return example
    kind, source = example.constraint.kind, settings.source or example.constraint.source
    return Example(example.title, Constraint(kind, source), settings.prompt or example.prompt)


def _editor(controls: Controls, example: Example, *, is_fixed: bool) -> tuple[Constraint, str]:
    kind, source = example.constraint.kind, example.constraint.source
    if is_fixed:
        st.code(source, language=None, wrap_lines=True)
        st.text(example.prompt)
        return example.constraint, example.prompt
    source = controls.text("Constraint", source, max_chars=_LARGEST_TYPED, height=210)
    prompt = controls.text("Prompt", example.prompt, max_chars=_LARGEST_TYPED, height=92)
    return Constraint(kind, json_text(source)), prompt


def _asked(prefix: str, drawn: StructuredRequest) -> StructuredRequest:
    """What the widgets hold at the click: text typed just before it was not there when the page was drawn."""

    def now(label: str, value: T) -> T:
        typed = state.widget_value(f"{prefix}-{label}")
        return typed if isinstance(typed, type(value)) else value

    recipe = drawn.recipe
    params = SamplingParams(
        temperature=now("temperature", recipe.params.temperature), seed=now("seed", recipe.params.seed)
    )
    recipe = Recipe(now("prompt", recipe.prompt), params, now("maximum", recipe.max_new_tokens))
    constraint = Constraint(drawn.constraint.kind, json_text(now("constraint", drawn.constraint.source)))
    return StructuredRequest(constraint, recipe, now("mask", drawn.is_masked))


def _words(run: StructuredRun | None, example: Example) -> str:
    """What became of it, and the example's moral as long as it is the example that ran."""
    if run is None:
        return ""
    is_example = (run.request.constraint, run.request.recipe.prompt) == (example.constraint, example.prompt)
    moral = example.moral if is_example and run.ending and run.request.is_masked else ""
    return " ".join(filter(None, [verdict(run), moral]))


def _mass_chart(run: StructuredRun | None, shown: int, key: str) -> None:
    live_chart(
        lambda: feasible_mass(run, shown),
        version=(run, shown),
        key=f"{key}-mass",
        title="Feasible mass: what the model itself gave to the allowed tokens",
        caption=influence(run) if run else "A diamond stands where the mask forbids the model's first choice.",
        alt="Share of the model's probability on allowed tokens, for every token of the output.",
        table=lambda: mass_table(run),
    )


def _cost_chart(run: StructuredRun | None, key: str) -> None:
    chart_card(
        lambda: step_costs(run),
        version=run,
        key=f"{key}-cost",
        title="Cost of the mask",
        caption=cost(run) if run else "Time of the mask beside the forward pass, for every token.",
        alt="Milliseconds of the forward pass and of the mask, for every token, on a logarithmic scale.",
        table=lambda: cost_table(run),
    )


def _step(run: StructuredRun | None, shown: int, key: str) -> None:
    engine = state.laboratory().engine
    if run is None or engine is None:
        data_table(Table(COLUMNS, []), key=f"{key}-step", title="Candidates of a token", caption=_NO_STEP)
        return
    step = run.steps[shown]
    rows, marked = step_table(step)
    data_table(
        rows,
        key=f"{key}-step",
        title=step_title(step, len(run.steps), engine.spec.vocab_size),
        caption=step_words(step),
        marked=marked,
    )
