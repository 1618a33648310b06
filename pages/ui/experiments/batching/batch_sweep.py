"""A decode step by batch: time of a pass, tokens per second, and where the weights stop being the cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import count, percent, seconds, significant
from inference.batching.cost import BatchCost, batch_cost, crossover_batch, tokens_per_s
from inference.machine.sweep_jobs import BATCH_CONTEXT, BATCH_SIZES, batch_job
from inference.machine.sweeps import Sweep, SweepPoint
from pages.charts.batching.batching import rate_by_batch, time_by_batch
from pages.ui import state
from pages.ui.experiments.compared import way
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job


@dataclass(frozen=True, slots=True)
class BatchSweepSettings:
    sizes: tuple[int, ...] = BATCH_SIZES
    context_len: int = BATCH_CONTEXT
    """Tokens in each sequence's cache."""


_DEFAULT = BatchSweepSettings()


def batch_sweep(
    settings: BatchSweepSettings = _DEFAULT, *, key: str = "batch-sweep", is_fixed: bool = False
) -> None:
    """Two charts side by side. It has nothing to set, so fixed or not it looks the same."""
    sweep = run_job(batch_job(settings.sizes, settings.context_len), key=key, label="Measure by batch")
    ceilings = state.laboratory().ceilings
    points = sweep.points if sweep else ()
    costs = [batch_cost(point, sweep.spec, ceilings) for point in points] if sweep and ceilings else []
    crossover = crossover_batch(ceilings.ridge_point, sweep.spec.weight_bits) if sweep and ceilings else None
    left, right = st.columns(2)
    with left:
        chart_card(
            lambda: time_by_batch(points, costs, crossover),
            version=(points, ceilings),
            key=f"{key}-time",
            title="Time of a decode pass",
            caption="circles: measured medians; dashed: estimated floors",
            alt="Measured time of a decode pass against batch size, over the estimated time to read the weights.",
            table=lambda: _table(points, costs),
        )
    with right:
        chart_card(
            lambda: rate_by_batch(points),
            version=points,
            key=f"{key}-rate",
            title="Tokens per second",
            caption="batch over the median pass; of all sequences together",
            alt="Measured tokens per second of the whole batch against batch size.",
            table=lambda: _table(points, costs),
        )
    with st.container(key=f"{key}-words"):
        st.text(words(sweep, points, costs, ceilings, crossover))


def _table(points: Sequence[SweepPoint], costs: Sequence[BatchCost]) -> Table:
    columns = ["batch", "a pass", "tokens/s in all", "tokens/s each"]
    known = ["weights, estimated", "arithmetic, estimated", "cache, share of bytes, estimated"] if costs else []
    rows = []
    for place, point in enumerate(points):
        rate = tokens_per_s(point)
        cells = [
            str(point.setting.batch_size),
            seconds(point.median_s),
            significant(rate),
            significant(rate / point.setting.batch_size),
        ]
        if costs:
            cost = costs[place]
            cells += [seconds(cost.weights_s), seconds(cost.arithmetic_s), percent(cost.kv_share)]
        rows.append(cells)
    return Table(columns + known, rows)


def words(
    sweep: Sweep | None,
    points: Sequence[SweepPoint],
    costs: Sequence[BatchCost],
    ceilings: Ceilings | None,
    crossover: float | None,
) -> str:
    if sweep is None or len(points) < 2:
        return "A decode pass reads every weight whether it serves one sequence or many: measure what that buys."
    sentence = f"{_growth(points)} {_pace(points[0], points[-1])}"
    if not costs or ceilings is None or crossover is None:
        return f"{sentence} Where the weights stop being the cost needs this machine's roofs, not measured yet."
    return (
        f"{sentence} The condition is that the weights are the cost: by the measured roofs, arithmetic overtakes "
        f"reading them at a batch of about {count(max(crossover, 1))}, estimated (ridge point × bytes per weight / "
        f"2). {_unshared(costs[-1], sweep)}{_thin(points)}"
    )


def _growth(points: Sequence[SweepPoint]) -> str:
    """How far a larger batch brings more tokens per second, and what comes after that."""
    first, last, best = points[0], points[-1], max(points, key=tokens_per_s)

    def times(point: SweepPoint) -> str:
        return f"{significant(tokens_per_s(point) / tokens_per_s(first))} times"

    if way(tokens_per_s(first), tokens_per_s(best)) != "more":
        return (
            f"A larger batch gains nothing here: batch {last.setting.batch_size} gives {times(last)} the tokens "
            f"per second of batch {first.setting.batch_size}."
        )
    sentence = (
        f"It helps decode: batch {best.setting.batch_size} gives {times(best)} the tokens per second of batch "
        f"{first.setting.batch_size}"
    )
    if way(tokens_per_s(best), tokens_per_s(last)) != "less":
        return f"{sentence}."
    return f"{sentence}, and there it ends: batch {last.setting.batch_size} gives only {times(last)} as many."


def _pace(first: SweepPoint, last: SweepPoint) -> str:
    if way(first.median_s, last.median_s) == "more":
        return (
            f"The price is each sequence's own pace: a token takes {seconds(last.median_s)} instead of "
            f"{seconds(first.median_s)}."
        )
    return (
        f"Each sequence keeps its pace: a token takes {seconds(last.median_s)} at batch {last.setting.batch_size} "
        f"and {seconds(first.median_s)} at batch {first.setting.batch_size}."
    )


def _unshared(cost: BatchCost, sweep: Sweep) -> str:
    context = sweep.points[-1].setting.context_len
    return (
        f"Each sequence reads its own cache: at {context} tokens each, that is {percent(cost.kv_share)} of the "
        f"bytes at batch {cost.batch_size} (estimated). "
    )


def _thin(points: Sequence[SweepPoint]) -> str:
    """Said where batch 2 costs far more than the weights explain: a property of the machine's matrix products."""
    if len(points) < 2 or points[1].median_s < 1.3 * points[0].median_s:
        return ""
    return (
        f"Here batch {points[1].setting.batch_size} already takes "
        f"{significant(points[1].median_s / points[0].median_s)} times as long as {points[0].setting.batch_size}: "
        "this machine multiplies a few rows at a lower rate than one."
    )
