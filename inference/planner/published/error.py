"""How far the planner is from published measurements: predicted over published, row by row."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from statistics import median

from inference.planner.deployment import Deployment, Workload, exchange_of
from inference.planner.efficiency import Efficiency, efficiency
from inference.planner.pass_time import decode_pass, peak, prefill_pass
from inference.planner.plan import plan
from inference.planner.published.runs import Kind, PublishedRun, held_back, published_runs


@dataclass(frozen=True, slots=True)
class PredictedRun:
    """One published row beside what the planner says: estimated against somebody else's measurement."""

    run: PublishedRun
    predicted_s: float
    is_held_back: bool
    """No share was fitted to this row."""

    @property
    def ratio(self) -> float:
        """Predicted over published: 1 is right, 2 says twice too slow."""
        return self.predicted_s / self.run.seconds

    @property
    def error(self) -> float:
        """How far off, as a share of the published time."""
        return abs(self.ratio - 1)


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of a set of rows."""

    count: int
    median: float
    within_30: float
    """Share of the rows that are at most 30 % off."""
    worst: PredictedRun


@cache
def predictions() -> tuple[PredictedRun, ...]:
    """Every usable published row under the fitted defaults."""
    return tuple(PredictedRun(run, predicted_s(run), run.id in held_back()) for run in published_runs())


def select(kind: Kind, *, is_held_back: bool, batch_size: int | None = None) -> list[PredictedRun]:
    """The rows of one kind that were, or were not, held back from the fit."""
    return [
        row
        for row in predictions()
        if row.run.kind == kind and row.is_held_back == is_held_back and batch_size in (None, row.run.batch_size)
    ]


def summary(rows: Iterable[PredictedRun]) -> Summary:
    """Median, worst and the share within a tolerance."""
    chosen = list(rows)
    if not chosen:
        raise ValueError("no published row was chosen, so there is no error to sum up")
    errors = [row.error for row in chosen]
    return Summary(
        count=len(chosen),
        median=median(errors),
        within_30=sum(error <= 0.30 for error in errors) / len(errors),
        worst=max(chosen, key=lambda row: row.error),
    )


def predicted_s(run: PublishedRun, rates: Efficiency | None = None, *, all_reduce_s: float | None = None) -> float:
    """Seconds of the row's pass or request; with None under the fitted defaults."""
    rates = rates or efficiency(run.engine, run.hardware)
    deployment = Deployment(
        weight_bits=run.spec.weight_bits,
        kv_bits=run.spec.kv_bits,
        tensor_parallel=run.tensor_parallel,
        engine=run.engine,
        efficiency=rates,
        all_reduce_s=all_reduce_s,
    )
    exchange, ways = exchange_of(run.hardware, deployment), run.tensor_parallel
    if run.kind == "decode":
        return decode_pass(
            run.spec,
            run.hardware,
            rates,
            exchange,
            context_len=run.context_len,
            batch_size=run.batch_size,
            ways=ways,
        ).total_s
    if run.kind == "request":
        workload = Workload(run.prompt_tokens, run.output_tokens, run.batch_size)
        return plan(run.spec, run.hardware, workload, deployment).round_s
    prefill_s = prefill_pass(
        run.spec, run.hardware, rates, exchange, num_tokens=run.prompt_tokens, ways=ways
    ).total_s
    if run.all_logits:
        others = 2 * run.spec.lm_head_params * (run.prompt_tokens - 1)
        prefill_s += others / (rates.flops_share * peak(run.spec, run.hardware) * ways)
    return prefill_s
