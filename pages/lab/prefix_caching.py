"""The prefix caching lab: what equal beginnings save, what they cost, and whom they tell of each other."""

from pages.ui.experiments.prefix_caching.chat import conversation
from pages.ui.experiments.prefix_caching.pair import PREDICTION, outcome, two_prompts
from pages.ui.experiments.prefix_caching.shared import shared_prompt
from pages.ui.experiments.prefix_caching.tenants import tenants
from pages.ui.parts.lab import lab

lab(
    "Prefix caching",
    "Same beginning, computed once: blocks of the KV cache kept and reused between requests.",
    minutes=12,
    prediction=PREDICTION,
    outcome=outcome(),
    views={
        "Two prompts": two_prompts,
        "Conversation": conversation,
        "Shared system prompt": shared_prompt,
        "Tenants": tenants,
    },
    key="prefix-lab",
    how="Run Two prompts to see.",
)
