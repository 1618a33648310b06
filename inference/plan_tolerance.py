"""The planner's own error as the tolerance of a number: how far it was off where nothing had been fitted."""

from dataclasses import dataclass

from inference.planner import Phase, Plan
from inference.planner_error import select, summary


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Of one phase, over the published rows held back from the fit."""

    phase: Phase
    median: float
    """As a share of the published time: half of the rows are nearer."""
    within_30: float
    """Share of the rows at most 30 % off."""
    count: int


def tolerance(phase: Phase) -> Tolerance:
    """What to expect of a prediction inside what was checked; `plan_scope.outside` says where that ends."""
    found = summary(select(phase, is_held_back=True))
    return Tolerance(phase, found.median, found.within_30, found.count)


def tolerance_of_request(made: Plan) -> Tolerance:
    """Of the phase that takes more of the request: too few whole requests were published to hold any back."""
    decode_s = made.e2e_s - made.ttft_s
    return tolerance("decode" if decode_s >= made.ttft_s else "prefill")
