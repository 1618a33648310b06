"""The sampling and structure lab: from the model's distribution to one token, and under a mask."""

from pages.ui.experiments.sampling.chain import PREDICTION, chain, outcome
from pages.ui.experiments.sampling.draws import draws
from pages.ui.experiments.sampling.order import order
from pages.ui.experiments.sampling.structure import structure
from pages.ui.parts.lab import lab

lab(
    "Sampling and structure",
    "How one token is chosen from the model's distribution, and what a mask does to it.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "Stages": lambda: chain(key="sampling"),
        "Order": lambda: order(key="sampling"),
        "Draws": lambda: draws(key="sampling"),
        "Structure": structure,
    },
    key="sampling-lab",
    how="The answer is computed as soon as the model is ready.",
)
