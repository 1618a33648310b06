"""What TTFT is made of: the real stages of a first token, and a queue that a load slider moves."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import UNKNOWN, percent, seconds
from inference.latency.queueing import LEFT_OUT, simulate
from inference.latency.waterfall import TtftStage, ttft_stages
from inference.trace import Trace
from pages.charts.latency.by_length import waterfall as waterfall_chart
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

OWN_QUEUE = 0.0
NUM_REQUESTS, SEED = 20_000, 1


@dataclass(frozen=True, slots=True)
class WaterfallSettings:
    load: float = OWN_QUEUE
    """Percent of the time a simulated server is busy; 0 shows the wait that was measured."""


_DEFAULT = WaterfallSettings()


def waterfall(settings: WaterfallSettings = _DEFAULT, *, key: str = "waterfall", is_fixed: bool = False) -> None:
    """The stages of one TTFT. Above load 0 the queue is the median wait among requests like this one, simulated."""
    run = state.live_run()
    trace = run.trace if run and run.trace.steps else state.recorded("lighthouse")
    drawing = framed(f"{key}-chart")
    with row(key):
        load = (
            Controls(key, is_fixed=is_fixed).slider("Load, % of the time busy", settings.load, 0.0, 95.0, 5.0) / 100
        )
    queue_s = _wait_s(trace, load) if load else None
    stages = ttft_stages(trace.steps[0], simulated_queue_s=queue_s)
    whose = "your run" if run and run.trace.steps else f"a recording of {trace.metadata.date[:10]}"
    caption = f"{whose}, {len(trace.prompt_tokens):,} prompt tokens; solid: measured; hatched: simulated"
    with drawing:
        live_chart(
            lambda: waterfall_chart(stages),
            version=stages,
            key=f"{key}-stages",
            title="Time to first token, stage by stage",
            caption=f"{caption}. {LEFT_OUT}" if load else caption,
            alt="The stages of TTFT as bars, each starting where the one before ended.",
            table=lambda: _table(stages),
        )
    st.text(sentence(stages, load))


def _wait_s(trace: Trace, load: float) -> float:
    """Median wait if everybody asked for this run: measured service, simulated arrivals."""
    service_s = sum(step.latency_s - step.queue_s for step in trace.steps)
    waits = simulate([service_s], load=load, num_requests=NUM_REQUESTS, seed=SEED)
    return waits.wait_percentile_s(50)


def _table(stages: tuple[TtftStage, ...]) -> Table:
    whole = sum(stage.seconds for stage in stages)
    return Table(
        ["stage", "time", "share of TTFT", "from"],
        [
            [
                stage.name,
                seconds(stage.seconds),
                percent(stage.seconds / whole) if whole else UNKNOWN,
                "simulated" if stage.is_simulated else "measured",
            ]
            for stage in stages
        ],
    )


def sentence(stages: tuple[TtftStage, ...], load: float) -> str:
    whole = sum(stage.seconds for stage in stages)
    if not whole:
        return "This run was recorded with no time in its first step."
    largest = max(stages, key=lambda stage: stage.seconds)
    share = percent(largest.seconds / whole)
    if not load:
        return f"TTFT is {seconds(whole)}, measured; its largest part is {largest.name}, {share} of it."
    return (
        f"Simulated queue, measured service: at load {percent(load)} the median TTFT is {seconds(whole)}; "
        f"its largest part is {largest.name}, {share} of it."
    )
