"""Load: requests that arrive at random queue for measured work, and queueing takes TTFT over."""

from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from inference.arithmetic.units import percent, seconds
from inference.latency.queueing import LEFT_OUT, expected_wait_s, simulate
from pages.charts.latency.queueing import AtLoad, load_curve
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

LOADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
NUM_REQUESTS = 20_000


@dataclass(frozen=True, slots=True)
class LoadSettings:
    load: float = 60.0
    """Percent of the time the server is busy."""
    num_output_tokens: int = 32
    seed: int = 1


_DEFAULT = LoadSettings()


def load(settings: LoadSettings = _DEFAULT, *, key: str = "load", is_fixed: bool = False) -> None:
    """TTFT percentiles against load, at the measured time of a request like the learner's own or the recording."""
    run = state.live_run()
    has_own = bool(run and len(run.trace.steps) > 1)
    trace = run.trace if run and has_own else state.recorded("lighthouse")
    drawing = framed(f"{key}-chart")
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        chosen = controls.slider("Load, % of the time busy", settings.load, 0.0, 95.0, 5.0) / 100
        num_tokens = controls.number("Output tokens", settings.num_output_tokens, 1, 1_000)
        seed = controls.number("Seed", settings.seed, 0, 1_000_000)
    prefill_s = trace.steps[0].latency_s - trace.steps[0].queue_s
    decode_s = tuple(step.latency_s - step.queue_s for step in trace.steps[1:])
    rows = _rows(prefill_s, decode_s, num_tokens, seed)
    now = min(rows, key=lambda row: abs(row.load - chosen))
    with drawing:
        live_chart(
            lambda: load_curve(rows, now.load),
            version=(rows, now.load),
            key=f"{key}-curve",
            title="TTFT against load",
            caption=f"service: {'your run' if has_own else 'a recorded run'}, measured; queue: simulated, Poisson "
            f"arrivals at one server; dashed: mean by formula, estimated. {LEFT_OUT}",
            alt="Percentiles of TTFT against the server's load: flat at first, steep near 100 %.",
            table=lambda: _table(rows),
        )
    st.text(sentence(now, chosen))


@lru_cache(maxsize=64)
def _rows(prefill_s: float, decode_s: tuple[float, ...], num_tokens: int, seed: int) -> tuple[AtLoad, ...]:
    """Service is one prefill and N - 1 decode steps drawn in turn from the measured ones."""
    steps = [decode_s[place % len(decode_s)] for place in range(num_tokens - 1)]
    service_s = prefill_s + sum(steps)
    rows = []
    for load in LOADS:
        waits = simulate([service_s], load=load, num_requests=NUM_REQUESTS, seed=seed)
        p50, p90, p99 = (waits.wait_percentile_s(share) + prefill_s for share in (50, 90, 99))
        rows.append(AtLoad(load, p50, p90, p99, expected_wait_s([service_s], load) + prefill_s, prefill_s))
    return tuple(rows)


def _table(rows: tuple[AtLoad, ...]) -> Table:
    return Table(
        ["load", "p50, simulated", "p90, simulated", "p99, simulated", "mean, formula"],
        [
            [
                percent(row.load),
                *(seconds(value) for value in (row.p50_s, row.p90_s, row.p99_s, row.expected_mean_s)),
            ]
            for row in rows
        ],
    )


def sentence(now: AtLoad, chosen: float) -> str:
    if now.p99_s <= now.service_s:
        return f"At load {percent(chosen)} nobody queues: TTFT is {seconds(now.service_s)}, the prefill alone."
    queued = percent(1 - now.service_s / now.p99_s)
    return (
        f"At load {percent(chosen)}: p50 {seconds(now.p50_s)}, p99 {seconds(now.p99_s)}; without a queue "
        f"{seconds(now.service_s)}. Of the p99, {queued} is queueing: the requests did not get longer."
    )
