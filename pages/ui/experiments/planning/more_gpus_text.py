"""What the comparison of replicas, pipeline and tensor parallelism says: prediction, sentences, tables."""

from collections.abc import Mapping, Sequence

from inference.arithmetic.units import scaled, seconds, significant
from inference.catalogue import hardware, models
from inference.planner.deployment import PER_NODE
from inference.planner.more_gpus import COUNTS, WAYS, Scenario, Use, Way, use
from pages.ui.parts.live_chart import Table
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_MODEL, _MACHINE, _COUNT = "llama-3.1-8b", "h100-sxm-80gb", 8
_GAINS = Bins(((1.1, "no faster"), (2.5, "about twice as fast"), (6.0, "about 4 times")), "about 8 times")
PREDICTION = Prediction(
    "more-gpus",
    "Llama-3.1-8B answers one person on an H100. Now eight H100 in one machine share the work, in the best way "
    "there is. How much faster does each token come, at best?",
    _GAINS.options,
)


def outcome() -> Outcome:
    """By the planner, at best and expected."""
    best, expected = (
        Scenario(models()[_MODEL], hardware()[_MACHINE], is_at_best=is_at_best) for is_at_best in (True, False)
    )
    gain = _gain(best, _COUNT)
    step_s, alone_s = (use(best, "tensor parallel", count).plan.itl_s for count in (_COUNT, 1))
    return Outcome(
        _GAINS.name_of(gain),
        f"Estimated: with every layer split, {seconds(step_s)} instead of {seconds(alone_s)} at best, "
        f"{significant(gain)} times as fast; {significant(_gain(expected, _COUNT))} times with an engine of today. "
        "Copies of the model, or a pipeline of its layers: no faster at all.",
    )


def _gain(scenario: Scenario, count: int) -> float:
    one, split = (use(scenario, "tensor parallel", number).plan.itl_s for number in (1, count))
    return one / split


def words(uses: Sequence[Use], count: int) -> str:
    """What each way does to a token at this count, whom it helps, and what stands in the way."""
    found = {one.way: one for one in uses if one.count == count}
    alone = next(one for one in uses if one.count == 1)
    told = [_tensor(found["tensor parallel"], alone, uses)] if "tensor parallel" in found else []
    if count > 1:
        told.append(_others(found, count))
    if not alone.plan.memory.fits:
        missing = scaled(-(alone.plan.memory.rest_bytes or 0), "B")
        told.append(
            f"One alone cannot hold it, {missing} are missing: hollow marks say what it would take if it did."
        )
    told.append(
        "Expert parallelism, for mixtures of experts only, gives each accelerator some of the experts and "
        "exchanges tokens twice a layer: it helps room and batch, not the reader."
    )
    return " ".join(told)


def _tensor(split: Use, alone: Use, uses: Sequence[Use]) -> str:
    step, one_s = split.plan.decode, alone.plan.itl_s
    if split.count == 1:
        return f"One alone takes {seconds(one_s)} a token."
    rest = f"{2 * split.plan.spec.num_layers} exchanges, {seconds(step.exchange_s)}"
    if step.layers_s:
        rest += f", and what every layer costs beside its bytes, {seconds(step.layers_s)}"
    if split.plan.itl_s >= one_s:
        return (
            f"Split over {split.count}, a token takes {seconds(split.plan.itl_s)}, longer than on one with "
            f"{seconds(one_s)}: the reading is shared out, but now it waits for {rest}."
        )
    told = (
        f"Split over {split.count}, a token takes {seconds(split.plan.itl_s)} instead of {seconds(one_s)}: "
        f"{significant(one_s / split.plan.itl_s)} times as fast, not {split.count} times, because nobody "
        f"shares out {rest}."
    )
    steps = {one.count: one.plan.itl_s for one in uses if one.way == "tensor parallel"}
    best = min(steps, key=lambda count: steps[count])
    if best < split.count:
        return f"{told} {best} are faster than {split.count}."
    if steps.get(2 * PER_NODE, 0) > steps[best]:
        return f"{told} {2 * PER_NODE} are slower again: their exchanges cross between two machines."
    return told


def _others(found: Mapping[Way, Use], count: int) -> str:
    work = found["replicas"].plan.workload
    idle = count - work.concurrency
    crowd = (
        f"with no more to do {idle} of these {count} stand idle"
        if idle > 0
        else f"{count} queues move at once, with fewer conversations in each step"
    )
    return (
        f"Replicas help many readers, not one: each still reads all weights, and {crowd}. A pipeline makes room "
        "for a model that is too large for one: a token visits its stages in turn, so it comes no sooner."
    )


def steps_table(uses: Sequence[Use]) -> Table:
    """Time per token: a row per way, a column per count."""
    cells = {(one.way, one.count): _step(one) for one in uses}
    return Table(
        ["time per token, estimated", *(f"on {count}" for count in COUNTS)],
        [[way, *(cells.get((way, count), "cannot be") for count in COUNTS)] for way in WAYS],
    )


def _step(one: Use) -> str:
    return seconds(one.plan.itl_s) + ("" if one.plan.memory.fits else " if it fitted")


def count_table(uses: Sequence[Use], count: int) -> Table:
    """All that changes, at one count."""
    return Table(
        [
            *("estimated", "time per token", "tokens/s in all", "TTFT", "last TTFT, all at once"),
            *("memory in all", "conversations that fit"),
        ],
        [
            [
                one.way,
                seconds(one.plan.itl_s),
                significant(one.plan.tps_total),
                seconds(one.plan.ttft_s),
                seconds(one.plan.burst_ttft_s),
                _memory(one),
                "any" if one.conversations is None else f"{one.conversations:,}",
            ]
            for one in uses
            if one.count == count
        ],
    )


def _memory(one: Use) -> str:
    if one.total_bytes is None:
        return scaled(one.used_bytes, "B")
    told = f"{scaled(one.used_bytes, 'B')} of {scaled(one.total_bytes, 'B')}"
    return told if one.plan.memory.fits else f"{told}: does not fit"


def all_table(uses: Sequence[Use]) -> Table:
    """Every point of the chart."""
    return Table(
        ["accelerators", "way", "time per token, estimated", "times as fast as one", "of it exchanges", "fits"],
        [
            [
                str(one.count),
                one.way,
                seconds(one.plan.itl_s),
                significant(uses[0].plan.itl_s / one.plan.itl_s),
                seconds(one.plan.decode.exchange_s + one.plan.hop_s),
                "yes" if one.plan.memory.fits else "no",
            ]
            for one in sorted(uses, key=lambda one: one.count)
        ],
    )
