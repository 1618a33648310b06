"""The planner's own error as the tolerance of a number: how far it was off where nothing had been fitted."""

from dataclasses import dataclass

from inference.arithmetic.units import percent
from inference.planner.plan import Phase, Plan
from inference.planner.published.error import PredictedRun, select, summary
from inference.planner.published.runs import Kind
from inference.planner.published.scope import outside

NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Over published rows held back from the fit."""

    median: float
    """As a share of the published time: half of the rows are nearer."""
    within_30: float
    """Share of the rows at most 30 % off."""
    count: int


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Of each result, what was held against published rows, and how far off that was."""

    ttft: str
    itl: str
    tps_per_user: str
    whole: str
    """Of a request and of the throughput of all."""


def tolerance(phase: Phase) -> Tolerance:
    """Of single passes of every engine: of the planner in general, not of one plan."""
    return _over(select(phase, is_held_back=True))


def tolerance_of(plan: Plan, kind: Kind) -> Tolerance | None:
    """Of rows like the plan: its engine class, and one sequence or several; None where nothing was held back.

    Every prefill that was published is of one prompt alone.
    """
    is_batch = plan.per_replica > 1
    rows = [
        row
        for row in select(kind, is_held_back=True)
        if row.run.engine == plan.deployment.engine and (kind == "prefill" or (row.run.batch_size > 1) == is_batch)
    ]
    return _over(rows) if rows else None


def checked(plan: Plan) -> Tolerances:
    """What stands beside the numbers of a plan. A pass that was checked does not vouch for a schedule of passes."""
    if outside(plan):
        return Tolerances(NOT_CHECKED, NOT_CHECKED, NOT_CHECKED, NOT_CHECKED)
    is_alone = plan.per_replica == 1
    prefill = _said("one prefill alone", tolerance_of(plan, "prefill"))
    step = _said(f"one step {'alone' if is_alone else 'of a batch'}", tolerance_of(plan, "decode"))
    whole = _said(f"requests {'alone' if is_alone else 'of a batch'}", tolerance_of(plan, "request"))
    if is_alone:
        return Tolerances(prefill, step, step, whole)
    return Tolerances(f"{NOT_CHECKED} among others; {prefill}", step, f"{NOT_CHECKED} among others; {step}", whole)


def _said(what: str, known: Tolerance | None) -> str:
    if known is None:
        return f"{what}: {NOT_CHECKED}"
    if known.count == 1:
        return f"{what}: {percent(known.median)} off, 1 row"
    return f"{what}: median error {percent(known.median)}, {known.count} rows"


def _over(rows: list[PredictedRun]) -> Tolerance:
    errors = summary(rows)
    return Tolerance(errors.median, errors.within_30, errors.count)
