"""The disaggregation lab: prefill and decode in processes of their own, and what that buys and costs."""

from pages.ui.experiments.disaggregation.fleet import fleet
from pages.ui.experiments.disaggregation.link import link
from pages.ui.experiments.disaggregation.two_processes import PREDICTION, outcome, two_processes
from pages.ui.parts.lab import lab

lab(
    "Disaggregation",
    "Prefill in one process, decode in another, the cache sent between them: what readers gain, and what it costs.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={"Two processes": two_processes, "Link": link, "At scale": fleet},
    key="disaggregation-lab",
    how="Serve both ways to see.",
)
