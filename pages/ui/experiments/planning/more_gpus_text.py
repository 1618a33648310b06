"""What the comparison of replicas, pipeline and tensor parallelism says: prediction, sentences, tables."""

from collections.abc import Mapping, Sequence

from inference.arithmetic.units import scaled, seconds, significant
from inference.catalogue import hardware, models
from inference.planner.deployment import PER_NODE
from inference.planner.more_gpus import COUNTS, WAYS, Scenario, Use, Way, predict_use
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
    step_s, alone_s = (predict_use(best, "tensor parallel", count).plan.itl_s for count in (_COUNT, 1))
    return Outcome(
        _GAINS.name_of(gain),
        f"Estimated: with every layer split, {seconds(step_s)} instead of {seconds(alone_s)} at best, "
        f"{significant(gain)} times as fast; {significant(_gain(expected, _COUNT))} times with an engine of today. "
        "Copies of the model, or a pipeline of its layers: no faster at all.",
    )


def _gain(scenario: Scenario, count: int) -> float:
    alone_s, split_s = (predict_use(scenario, "tensor parallel", number).plan.itl_s for number in (1, count))
    return alone_s / split_s


def words(uses: Sequence[Use], count: int) -> str:
    """What each way does to a token at this count, whom it helps, and what stands in the way."""
    by_way = {use.way: use for use in uses if use.count == count}
    alone = next(use for use in uses if use.count == 1)
    sentences = [_tensor(by_way["tensor parallel"], alone, uses)] if "tensor parallel" in by_way else []
    if count > 1:
        sentences.append(_others(by_way, count))
    if not alone.plan.memory.fits:
        missing = scaled(-(alone.plan.memory.rest_bytes or 0), "B")
        sentences.append(
            f"One alone cannot hold it, {missing} are missing: hollow marks say what it would take if it did."
        )
    sentences.append(
        "Expert parallelism, for mixtures of experts only, gives each accelerator some of the experts and "
        "exchanges tokens twice a layer: it helps room and batch, not the reader."
    )
    return " ".join(sentences)


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
    gain = (
        f"Split over {split.count}, a token takes {seconds(split.plan.itl_s)} instead of {seconds(one_s)}: "
        f"{significant(one_s / split.plan.itl_s)} times as fast, not {split.count} times, because nobody "
        f"shares out {rest}."
    )
    steps = {use.count: use.plan.itl_s for use in uses if use.way == "tensor parallel"}
    best = min(steps, key=lambda count: steps[count])
    if best < split.count:
        return f"{gain} {best} are faster than {split.count}."
    if steps.get(2 * PER_NODE, 0) > steps[best]:
        return f"{gain} {2 * PER_NODE} are slower again: their exchanges cross between two machines."
    return gain


def _others(by_way: Mapping[Way, Use], count: int) -> str:
    work = by_way["replicas"].plan.workload
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
    cells = {(use.way, use.count): _step(use) for use in uses}
    return Table(
        ["time per token, estimated", *(f"on {count}" for count in COUNTS)],
        [[way, *(cells.get((way, count), "cannot be") for count in COUNTS)] for way in WAYS],
    )


def _step(use: Use) -> str:
    return seconds(use.plan.itl_s) + ("" if use.plan.memory.fits else " if it fitted")


def count_table(uses: Sequence[Use], count: int) -> Table:
    """All that changes, at one count."""
    return Table(
        [
            *("estimated", "time per token", "tokens/s in all", "TTFT", "last TTFT, all at once"),
            *("memory in all", "conversations that fit"),
        ],
        [
            [
                use.way,
                seconds(use.plan.itl_s),
                significant(use.plan.tps_total),
                seconds(use.plan.ttft_s),
                seconds(use.plan.burst_ttft_s),
                _memory(use),
                "any" if use.conversations is None else f"{use.conversations:,}",
            ]
            for use in uses
            if use.count == count
        ],
    )


def _memory(use: Use) -> str:
    if use.total_bytes is None:
        return scaled(use.used_bytes, "B")
    room = f"{scaled(use.used_bytes, 'B')} of {scaled(use.total_bytes, 'B')}"
    return room if use.plan.memory.fits else f"{room}: does not fit"


def all_table(uses: Sequence[Use]) -> Table:
    """Every point of the chart."""
    return Table(
        ["accelerators", "way", "time per token, estimated", "times as fast as one", "of it exchanges", "fits"],
        [
            [
                str(use.count),
                use.way,
                seconds(use.plan.itl_s),
                significant(uses[0].plan.itl_s / use.plan.itl_s),
                seconds(use.plan.decode.exchange_s + use.plan.hop_s),
                "yes" if use.plan.memory.fits else "no",
            ]
            for use in sorted(uses, key=lambda use: use.count)
        ],
    )
