"""More compute for both phases: the same passes with one core of this machine and with more."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.units import seconds, significant
from inference.machine.cores import by_pass, cores_job, gain
from inference.machine.sweeps import SweepPoint
from pages.charts.roofline.cores import gains_chart, pass_name
from pages.ui.experiments.compared import way
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import finished, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction, predict, veiled

_WHICH = Bins(((0.95, "the decode step"), (1.05, "both alike")), "the prompt")
PREDICTION = Prediction(
    "more-cores",
    "A prompt of 512 tokens and one decode step at 512 tokens, both with one core of this machine's processor and "
    "with all of them: which gets faster by the larger factor?",
    _WHICH.options[::-1],
)


@dataclass(frozen=True, slots=True)
class CoresSettings:
    """There is nothing to set: the passes are those that tell the phases apart."""


_DEFAULT = CoresSettings()


def more_cores(settings: CoresSettings = _DEFAULT, *, key: str = "more-cores", is_fixed: bool = False) -> None:
    """A guess, one chart of what each pass gained, and the reason in words."""
    del settings, is_fixed
    known = outcome()
    predict(PREDICTION, known)
    if veiled(PREDICTION, known):
        return
    sweep = run_job(cores_job(), key=key)
    passes = by_pass(sweep) if sweep else []
    chart_card(
        lambda: gains_chart(passes),
        version=tuple(map(tuple, passes)),
        key=f"{key}-chart",
        title=title(passes),
        caption="medians of repeats that take turns; prefill and decode in their colours",
        alt="How many times as fast each pass is with more cores than with one, measured.",
        table=lambda: Table(
            ["pass", "cores", "median, measured", "quartiles", "times as fast as with one"],
            [_line(points[0], point) for points in passes for point in points],
        ),
    )
    with st.container(key=f"{key}-words"):
        st.text(words(passes) or _UNMEASURED)


_UNMEASURED = "The cores take turns: a pass with one, the same with two, and again, until the medians stand still."


def _line(one: SweepPoint, point: SweepPoint) -> list[str]:
    cells = [pass_name(point.setting), f"{point.setting.num_cores}", seconds(point.median_s)]
    return [*cells, f"{seconds(point.lower_s)} to {seconds(point.upper_s)}", significant(gain(one, point))]


def _of(passes: Sequence[Sequence[SweepPoint]], phase: str, context_len: int, batch_size: int = 1) -> float | None:
    """What all cores gain for this pass; None before it is measured with more than one."""
    for points in passes:
        setting = points[0].setting
        if (setting.phase, setting.context_len, setting.batch_size) == (phase, context_len, batch_size):
            return gain(points[0], points[-1]) if len(points) > 1 else None
    return None


def title(passes: Sequence[Sequence[SweepPoint]]) -> str:
    """The finding, once both phases are there."""
    prompt, step = _of(passes, "prefill", 512), _of(passes, "decode", 512)
    if prompt is None or step is None:
        return "What more cores gain"
    if not _has_gained(prompt, step):
        return "More cores made neither phase faster here"
    return {
        "more": "More cores help the prompt more than the decode step",
        "the same": "More cores help the prompt and the decode step alike",
        "less": "More cores help the decode step more than the prompt",
    }[way(step, prompt)]


def words(passes: Sequence[Sequence[SweepPoint]]) -> str:
    """What was gained, and why as far as these numbers bear it out."""
    prompt, step, batch = _of(passes, "prefill", 512), _of(passes, "decode", 512), _of(passes, "decode", 128, 32)
    if prompt is None or step is None:
        return ""
    most = passes[-1][-1].setting.num_cores
    sentences = [
        f"With {most} cores instead of one, the prompt of 512 tokens is {significant(prompt)} times as fast, the "
        f"decode step at 512 {significant(step)} times."
    ]
    if not _has_gained(prompt, step):
        return (
            f"{sentences[0]} Neither gains: other programs may have had the cores. Measure again in a quiet hour."
        )
    if way(step, prompt) == "more":
        sentences.append(
            "Arithmetic is shared out among cores; the weights come over one bus to memory, and asking for them "
            "with more cores makes it no wider."
        )
    else:
        sentences.append("Here one core alone does not keep the bus to memory busy, so a step gains from more too.")
    if batch is not None and way(step, batch) == "more":
        sentences.append(
            f"A batch of 32 gives a step arithmetic to share out: it gains {significant(batch)} times."
        )
    elif batch is not None:
        sentences.append(f"A batch of 32 gains {significant(batch)} times: not more than a step alone.")
    return " ".join(sentences)


def _has_gained(prompt: float, step: float) -> bool:
    """Without it there is no verdict on which gains more."""
    return way(1, prompt) == "more" or way(1, step) == "more"


def outcome() -> Outcome | None:
    """What was measured on this machine; None before, and where nothing gained."""
    sweep = finished(cores_job())
    passes = by_pass(sweep) if sweep else []
    prompt, step = _of(passes, "prefill", 512), _of(passes, "decode", 512)
    if prompt is None or step is None or not _has_gained(prompt, step):
        return None
    return Outcome(
        _WHICH.name_of(prompt / step),
        f"Measured here: the prompt {significant(prompt)} times, the decode step {significant(step)} times.",
    )
