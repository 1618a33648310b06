"""The roofline lab: what limits a pass on this machine, measured, operator by operator, module by module."""

from pages.ui.experiments.roofline.cores import more_cores
from pages.ui.experiments.roofline.modules import module_times
from pages.ui.experiments.roofline.operators import operator_table
from pages.ui.experiments.roofline.roofline import outcome, roofline
from pages.ui.experiments.roofline.text import PREDICTION
from pages.ui.parts.lab import lab

lab(
    "Roofline",
    "What limits a pass on this machine: arithmetic, memory, or the overhead of asking for either.",
    minutes=10,
    prediction=PREDICTION,
    outcome=outcome(),
    views={"Measured": roofline, "Operators": operator_table, "Modules": module_times, "More cores": more_cores},
    key="roofline-lab",
    how="Measure prefill and decode to see.",
)
