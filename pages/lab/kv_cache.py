"""The KV cache lab: what the cache saves, what it costs, and what is in it."""

from pages.ui.experiments.kv_cache.agreement import agreement
from pages.ui.experiments.kv_cache.blocks import paged_blocks
from pages.ui.experiments.kv_cache.cache_norms import cache_norms
from pages.ui.experiments.kv_cache.growth import cache_growth
from pages.ui.experiments.kv_cache.kv_formulas import kv_formulas
from pages.ui.experiments.kv_cache.recompute import PREDICTION, outcome, with_and_without
from pages.ui.experiments.kv_cache.scores import score_matrix
from pages.ui.parts.lab import lab

lab(
    "KV cache",
    "What keeping keys and values saves, what it costs in bytes, and what is in it.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "With and without": with_and_without,
        "Same answer": agreement,
        "Formula": kv_formulas,
        "Map": cache_norms,
        "Growth": cache_growth,
        "Score matrix": score_matrix,
        "Blocks": paged_blocks,
    },
    key="kv-lab",
    how="Measure with and without to see.",
)
