"""The latency lab: what TTFT and ITL are made of, measured, and what load does to them."""

from pages.ui.experiments.latency.diagnosis import diagnosis
from pages.ui.experiments.latency.goodput import goodput_limits
from pages.ui.experiments.latency.load import load
from pages.ui.experiments.latency.readings import tool_readings
from pages.ui.experiments.latency.ttft_itl import PREDICTION, outcome, ttft_itl
from pages.ui.experiments.latency.waterfall import waterfall
from pages.ui.parts.lab import lab

lab(
    "Latency",
    "What the first token waits for, what sets the pace after it, and what other people's requests do to both.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "Prompt and context": ttft_itl,
        "Waterfall": waterfall,
        "Load": load,
        "Readings": tool_readings,
        "Goodput": goodput_limits,
        "Diagnosis": diagnosis,
    },
    key="latency-lab",
    how="Measure prefill to see.",
)
