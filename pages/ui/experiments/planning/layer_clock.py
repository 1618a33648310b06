"""The clock of an eager stack: half a billion parameters take nearly as long as seven; the layers set the time."""

from dataclasses import dataclass
from itertools import permutations

import streamlit as st

from inference.arithmetic.units import seconds, significant
from inference.planner.efficiency import efficiency, fitted
from inference.planner.published.layer_clock import ClockRow, Contrast, rows
from pages.charts.planner.layer_clock import layer_clock as chart
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

ALL = "all machines"
_ALIKE = 1.3
"""Layers of two models that count as nearly as many."""


@dataclass(frozen=True, slots=True)
class LayerClockSettings:
    machine: str = "a100-sxm4-80gb"
    """Id of a machine with published rows, or ALL."""


_DEFAULT = LayerClockSettings()


def layer_clock(
    settings: LayerClockSettings = _DEFAULT, *, key: str = "layer_clock", is_fixed: bool = False
) -> None:
    """Published decode steps over their layers, with the floor of each. Nothing here was measured by us."""
    drawing = framed(f"{key}-chart")
    steps = [step for step in rows() if step.run.kind == "decode"]
    names = {ALL: "All machines"} | {step.run.hardware.id: step.run.hardware.name for step in steps}
    with row(key):
        machine = Controls(key, is_fixed=is_fixed).select(
            "Accelerator", list(names), settings.machine, format_func=lambda name: names[name]
        )
    shown = [step for step in steps if machine in (ALL, step.run.hardware.id)]
    general = fitted().engines["eager"].general
    clock_s = (general if machine == ALL else efficiency("eager", shown[0].run.hardware)).layer_s
    with drawing:
        live_chart(
            lambda: chart(shown, clock_s),
            version=(machine, clock_s),
            key=f"{key}-chart",
            title="Milliseconds by the layer",
            caption=f"{names[machine]}, eager PyTorch; full: measured by others; hollow: its floor, estimated; "
            "dashed: the planner's clock",
            alt="Time of a decode step against the number of layers, with the roofline's floor of each.",
            table=lambda: table(shown),
        )
    with st.container(key=f"{key}-words"):
        st.text(words(shown))


def words(shown: list[ClockRow]) -> str:
    """The pair that shows it best, and what follows for hardware."""
    pair = _pair(shown)
    if pair is None:
        step = shown[0]
        return (
            f"{step.run.spec.name}: {seconds(step.run.seconds)} for {step.run.spec.num_layers} layers, "
            f"{significant(step.times_floor)} times its floor of {seconds(step.floor_s)}. {_moral(step)}"
        )
    small, large = pair.small, pair.large
    return (
        f"{large.run.spec.name} has {significant(pair.params_ratio)} times the parameters of "
        f"{small.run.spec.name} and takes {significant(pair.seconds_ratio)} times as long, "
        f"{seconds(large.run.seconds)} instead of {seconds(small.run.seconds)}; it has "
        f"{large.run.spec.num_layers} layers instead of {small.run.spec.num_layers}. At the roofline it would be "
        f"{seconds(large.floor_s)} and {seconds(small.floor_s)}. {_moral(large)}"
    )


_NEAR = 2.0
"""Times its floor: below that, more than half of the time is the floor's."""


def _moral(step: ClockRow) -> str:
    """For a pass far above its floor, and for one that is near it."""
    if step.times_floor < _NEAR:
        return (
            "Here the floor is near, so the clock of the layers hides behind the bytes: more bandwidth would help."
        )
    return (
        "An eager stack launches every operator of every layer from Python, and the accelerator waits. More "
        "bandwidth or FLOP/s would not help; CUDA graphs, compilation or fewer layers do."
    )


def _pair(shown: list[ClockRow]) -> Contrast | None:
    """Of one stack on one machine: nearly as many layers and most times the parameters, else just the latter."""
    alone = [step for step in shown if step.run.batch_size == 1]
    pairs = [
        Contrast(small, large)
        for small, large in permutations(alone, 2)
        if (small.run.hardware.id, small.run.engine_name) == (large.run.hardware.id, large.run.engine_name)
        and small.run.spec.total_params < large.run.spec.total_params
    ]
    alike = [pair for pair in pairs if pair.layers_ratio <= _ALIKE]
    return max(alike or pairs, key=lambda pair: pair.params_ratio, default=None)


def table(shown: list[ClockRow]) -> Table:
    """Every point, with its source."""
    return Table(
        [
            *("model", "accelerator", "stack", "batch", "layers", "measured by others", "per layer"),
            *("floor, estimated", "times the floor", "source"),
        ],
        [
            [
                step.run.spec.name,
                step.run.hardware.name,
                step.run.engine_name,
                str(step.run.batch_size),
                str(step.run.spec.num_layers),
                seconds(step.run.seconds),
                seconds(step.layer_s),
                seconds(step.floor_s),
                significant(step.times_floor),
                step.run.source,
            ]
            for step in shown
        ],
    )
