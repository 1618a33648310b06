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


def options(base: Plan, assumed: Assumptions = _DEFAULT) -> tuple[Optimisation, ...]:
    """In the order of the labs; widths that the plan already has or is below are left out."""
    return (
        continuous_batching(base, assumed),
        chunked_prefill(base, assumed),
        prefill_batching(base, assumed),
        speculation(base, assumed),
        prefix_caching(base, assumed),
        *(cache_bits(base, bits) for bits in CACHE_BITS if bits < base.deployment.kv_bits),
        *(weight_bits(base, bits) for bits in WEIGHT_BITS if bits < base.deployment.weight_bits),
        disaggregation(base, assumed),
        structured_output(base, assumed),
    )
