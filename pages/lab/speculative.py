"""The speculative decoding lab: drafts verified in one pass, what that gains, and when it loses."""

from pages.ui.experiments.speculation.draws import speculation_draws
from pages.ui.experiments.speculation.sizes import speculation_sizes
from pages.ui.experiments.speculation.speculation import PREDICTION, outcome, speculation
from pages.ui.parts.lab import lab

lab(
    "Speculative decoding",
    "Several tokens guessed, verified in one pass: what it gains, what it wastes, and why the text stays the same.",
    minutes=10,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "Round by round": speculation,
        "k and acceptance": speculation_sizes,
        "Sampled": speculation_draws,
    },
    key="speculative-lab",
    how="Run the copy to see.",
)
