"""What each optimisation of the labs would change for one plan. Estimated."""

from inference.planner.options.option import Assumptions, Optimisation
from inference.planner.options.passes import cache_bits, prefix_caching, speculation, structured_output, weight_bits
from inference.planner.options.schedule import (
    chunked_prefill,
    continuous_batching,
    disaggregation,
    prefill_batching,
)
from inference.planner.plan import Plan

CACHE_BITS = (8,)
WEIGHT_BITS = (8, 4)
_DEFAULT = Assumptions()


def options(made: Plan, assumed: Assumptions = _DEFAULT) -> tuple[Optimisation, ...]:
    """In the order of the labs; widths that the plan already has or is below are left out."""
    return (
        continuous_batching(made, assumed),
        chunked_prefill(made, assumed),
        prefill_batching(made, assumed),
        speculation(made, assumed),
        prefix_caching(made, assumed),
        *(cache_bits(made, bits) for bits in CACHE_BITS if bits < made.deployment.kv_bits),
        *(weight_bits(made, bits) for bits in WEIGHT_BITS if bits < made.deployment.weight_bits),
        disaggregation(made, assumed),
        structured_output(made, assumed),
    )
