"""The batching lab: requests that share passes, what that gains each phase, and what it costs whom."""

from pages.ui.experiments.batching.batch_sweep import batch_sweep
from pages.ui.experiments.batching.batching import PREDICTION, batching, outcome
from pages.ui.experiments.batching.chunked_prefill import chunked_prefill
from pages.ui.experiments.batching.prefill_batching import prefill_batching
from pages.ui.parts.lab import lab

lab(
    "Batching",
    "What requests gain by sharing a pass, in which phase, and what it costs their neighbours.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "Static and continuous": batching,
        "Chunked prefill": chunked_prefill,
        "Batch sweep": batch_sweep,
        "Prefill batching": prefill_batching,
    },
    key="batching-lab",
    how="Serve the mixed requests both ways to see.",
)
