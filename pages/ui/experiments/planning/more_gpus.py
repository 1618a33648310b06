"""Why not just more GPUs? Replicas, a pipeline and tensor parallelism side by side, for a chosen model and link."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.units import seconds
from inference.catalogue import hardware, models
from inference.kv_cache.growth import MOST_CONVERSATIONS, MOST_TOKENS
from inference.planner.deployment import Workload
from inference.planner.more_gpus import COUNTS, Scenario, Use, side_by_side
from pages.charts.planner.more_gpus import more_gpus as chart
from pages.ui.experiments.planning.more_gpus_text import (
    PREDICTION,
    all_table,
    count_table,
    outcome,
    steps_table,
    words,
)
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import data_table
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import live_chart
from pages.ui.parts.prediction import predict, veiled

Pace = Literal["at best", "expected"]
_PACES: tuple[Pace, ...] = ("at best", "expected")
_MOST_US = 1_000_000


@dataclass(frozen=True, slots=True)
class MoreGpusPreset:
    """What is served on what, before the learner changes it."""

    model: str = "llama-3.1-8b"
    prompt_tokens: int = 1
    output_tokens: int = 1
    conversations: int = 1
    inside_us: int = 10
    """Of one exchange inside a machine."""
    across_us: int = 30
    """Of one between machines."""


PRESETS: Mapping[str, MoreGpusPreset] = {
    "One person, 8B": MoreGpusPreset(),
    "One person, 70B": MoreGpusPreset("llama-3.1-70b"),
    "64 people in a chat, 8B": MoreGpusPreset("llama-3.1-8b", 2048, 500, 64),
    "Loses: a small model": MoreGpusPreset("qwen3-0.6b"),
    "Loses: a slow link": MoreGpusPreset(inside_us=100, across_us=300),
}


@dataclass(frozen=True, slots=True)
class MoreGpusSettings:
    preset: str = "One person, 8B"
    """One of PRESETS."""
    machine: str = "h100-sxm-80gb"
    """Id of a catalogue machine."""
    count: int = 8
    """The accelerators of the second table, one of COUNTS."""
    pace: Pace = "at best"


_DEFAULT = MoreGpusSettings()


def more_gpus(settings: MoreGpusSettings = _DEFAULT, *, key: str = "more_gpus", is_fixed: bool = False) -> None:
    """A guess first; then the chart of time per token, its table, and all else at one count. All estimated."""
    if not is_fixed:
        predict(PREDICTION, known := outcome())
        if veiled(PREDICTION, known):
            return
    drawing = framed(f"{key}-chart")
    scenario, count = _chosen(settings, key, is_fixed=is_fixed)
    talking, counting = st.container(key=f"{key}-words"), framed(f"{key}-count")
    try:
        uses, refused = side_by_side(scenario)
    except ValueError as problem:
        with talking:
            st.text(str(problem))
        return
    with drawing:
        _draw(scenario, uses, key)
    with talking:
        st.text(words(uses, count) + "".join(f" {_sentence(reason)}" for reason in refused))
    with counting:
        data_table(
            count_table(uses, count),
            key=f"{key}-count-table",
            title=f"All {count} together" if count > 1 else "One alone",
            caption=_served(scenario),
        )


def _chosen(settings: MoreGpusSettings, key: str, *, is_fixed: bool) -> tuple[Scenario, int]:
    shared, machines = Controls(key, is_fixed=is_fixed), _machines()
    with row(key):
        preset = shared.select("Preset", list(PRESETS), settings.preset, width=230)
        count = shared.choice("How many", COUNTS, settings.count)
        pace = shared.choice("Pace", _PACES, settings.pace)
        machine = shared.select(
            "Accelerator", list(machines), settings.machine, format_func=lambda name: machines[name].name
        )
        usual, own = PRESETS[preset], Controls(f"{key}-{preset}", is_fixed=is_fixed)  # each keeps its own changes
        names = {name: spec.name for name, spec in models().items()}
        model = own.select("Model", list(names), usual.model, format_func=lambda name: names[name], width=180)
        conversations = own.number("Conversations", usual.conversations, 1, MOST_CONVERSATIONS, width=130)
        prompt = own.number("Prompt, tokens", usual.prompt_tokens, 1, MOST_TOKENS, width=130)
        output = own.number("Answer, tokens", usual.output_tokens, 1, MOST_TOKENS, width=130)
        inside = own.number("Exchange, µs", usual.inside_us, 0, _MOST_US, step=5, width=125)
        across = own.number("Between machines, µs", usual.across_us, 0, _MOST_US, step=10, width=170)
    work = Workload(prompt, output, conversations)
    return Scenario(models()[model], machines[machine], work, inside / 1e6, across / 1e6, pace == "at best"), count


def _machines() -> dict[str, Hardware]:
    """Those that are joined to others, with a peak to predict a prefill by."""
    return {
        name: machine
        for name, machine in hardware().items()
        if machine.interconnect and (machine.peak_flops or machine.estimated_flops)
    }


def _draw(scenario: Scenario, uses: tuple[Use, ...], key: str) -> None:
    pace = (
        "at best: full peak and bandwidth" if scenario.is_at_best else "with the fitted shares of a serving engine"
    )
    live_chart(
        lambda: chart(uses),
        version=uses,
        key=f"{key}-chart",
        title="Why not just more GPUs?",
        caption=f"{scenario.spec.name} on {scenario.hardware.name}, {pace}; hollow: does not fit",
        alt="Time per token against the number of accelerators, for replicas, a pipeline and tensor parallelism.",
        table=lambda: all_table(uses),
    )
    data_table(steps_table(uses), key=f"{key}-steps")


def _served(scenario: Scenario) -> str:
    work = scenario.workload
    people = "one conversation" if work.concurrency == 1 else f"{work.concurrency:,} conversations at once"
    return (
        f"{people}, tokens in {work.prompt_tokens:,} and out {work.output_tokens:,}; an exchange takes "
        f"{seconds(scenario.inside_s)} in one machine, {seconds(scenario.across_s)} between machines (assumed)"
    )


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."
