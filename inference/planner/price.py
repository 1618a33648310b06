"""What a million tokens cost in money and in energy, tokens in and out apart. Estimated."""

from dataclasses import dataclass

from inference.planner.plan import Plan

MILLION = 1_000_000
SERVER_OVER_ACCELERATORS = 1.8  # a DGX H100: at most 10.2 kW for eight accelerators of 700 W


@dataclass(frozen=True, slots=True)
class PerMillion:
    """Of a million tokens each. A prompt's time is booked to its tokens, the steps' to those they yield.

    `output` holds every output token to account for its steps alone, the first one of each answer for none.
    """

    input: float
    output: float
    whole: float
    """All of it, prompts too, over the output tokens: what a million tokens of answers cost."""


def money(plan: Plan, price: float) -> PerMillion:
    """In the currency of `price`, per accelerator and hour, all of them paid for and never idle."""
    return _booked(plan, price / 3600)


def energy_kwh(plan: Plan) -> PerMillion | None:
    """Kilowatt-hours of the accelerators alone, each at its full TDP; None without a TDP.

    A server with hosts, network and cooling draws about SERVER_OVER_ACCELERATORS times that.
    """
    return None if plan.hardware.tdp_w is None else _booked(plan, plan.hardware.tdp_w / 3.6e6)


def _booked(plan: Plan, per_second: float) -> PerMillion:
    """A rate per accelerator and second over the tokens served in one."""
    whole = MILLION * per_second * plan.deployment.num_accelerators / plan.tps_total
    tokens_in = plan.workload.prompt_tokens / plan.workload.output_tokens
    return PerMillion(
        input=whole * plan.prefill_share / tokens_in, output=whole * (1 - plan.prefill_share), whole=whole
    )
