"""Charts with 5,000 points: from the records to the finished redraw in the browser, one point after the other.

The run is the recorded one, its decode steps repeated up to 5,000; the figures are those of the pages, which thin
them. Building the figure, writing it as JSON and Plotly's redraw are timed together.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files

import plotly.graph_objects as go
from playwright.sync_api import Page

from benchmarks.browser.browser import chromium, fresh_page
from benchmarks.measurement import Measurement
from inference.machine.placed import Placed, work_of
from inference.machine.sweep_jobs import prefill
from inference.machine.sweeps import SweepPoint
from inference.trace import Step, Trace
from lessons import load_trace
from pages.charts.roofline.measured import lab_roofline
from pages.charts.run.roofline import roofline
from pages.charts.run.run import kv_growth, latency_per_pass

_POINTS, _REPEATS = 5_000, 9
_DRAW = """async (text) => {
  const chart = JSON.parse(text), node = document.getElementById("chart")
  await Plotly.react(node, chart.data, chart.layout)
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
}"""


def run() -> list[Measurement]:
    trace = load_trace("lighthouse")
    grown = [_grown(trace, _POINTS + more) for more in range(_REPEATS + 1)]
    charts: dict[str, list[Callable[[], go.Figure]]] = {
        "latency per pass": [_later(latency_per_pass, one) for one in grown],
        "KV cache": [_later(kv_growth, one) for one in grown],
        "roofline of a run": [_later(roofline, one) for one in grown],
        "roofline of a sweep": [_later(_sweep_roofline, one) for one in grown],
    }
    with chromium() as browser:
        page = fresh_page(browser)
        page.set_content("<div id='chart' style='width:800px'></div>")
        page.add_script_tag(content=(files("plotly") / "package_data" / "plotly.min.js").read_text())
        return [_timed(page, name, draws) for name, draws in charts.items()]


def _grown(trace: Trace, num_steps: int) -> Trace:
    """The run with its decode steps said again and again, each one token further."""
    decodes = [step for step in trace.steps if step.phase == "decode"]
    steps: list[Step] = [trace.steps[0]]
    for index in range(1, num_steps):
        again = decodes[(index - 1) % len(decodes)]
        steps.append(replace(again, index=index, context_len=steps[0].context_len + index))
    return replace(trace, steps=steps)


def _sweep_roofline(trace: Trace) -> go.Figure:
    """The same times as if they were passes of a sweep over prompt lengths."""
    assert trace.ceilings
    placed = []
    for step in trace.steps:
        setting = prefill(step.context_len)
        placed.append(Placed(SweepPoint(setting, (step.forward_s,), ()), work_of(trace.metadata.spec, setting)))
    return lab_roofline(placed, [trace.ceilings])


def _later(draw: Callable[[Trace], go.Figure], trace: Trace) -> Callable[[], go.Figure]:
    return lambda: draw(trace)


def _timed(page: Page, name: str, draws: list[Callable[[], go.Figure]]) -> Measurement:
    times_ms = []
    for draw in draws:
        start = time.perf_counter()
        page.evaluate(_DRAW, draw().to_json())
        times_ms.append((time.perf_counter() - start) * 1e3)
    counted = times_ms[1:]  # the first builds the node
    spread: dict[str, float | str] = {"least_ms": min(counted), "most_ms": max(counted)}
    return Measurement(
        f"redraw of {_POINTS:,} points, {name}", statistics.median(counted), "ms", limit=500, detail=spread
    )
