"""The answer of a plan: its numbers, the floor under each, how far off they may be, and why they are so."""

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from inference.plan_error import Tolerance, tolerance, tolerance_of_request
from inference.plan_parts import first_step_s, parts
from inference.plan_scope import outside
from inference.planner import Phase, Plan, at_best
from pages.charts.units import percent, seconds, significant

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_plan_answer",
    html='<div class="pa"><p class="pa-head"></p><dl class="pa-numbers"></dl><div class="pa-words"></div></div>',
    css=(_HERE / "answer.css").read_text(),
    js=(_HERE / "answer.js").read_text(),
)


@dataclass(frozen=True, slots=True)
class Number:
    """One result: what is predicted, what no engine gets under, and the tolerance."""

    label: str
    value: str
    best: str
    tolerance: str
    phase: str = ""
    """Whose colour it has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the card says; names may be untrusted, so it is set as text."""

    head: str
    numbers: tuple[Number, ...] = ()
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def show_answer(answer: Answer, *, key: str = "planner-answer") -> None:
    _component(data=asdict(answer), key=key)


def answer(made: Plan) -> Answer:
    return Answer(head=_head(made), numbers=_numbers(made), words=tuple(words(made)), warnings=outside(made))


def _head(made: Plan) -> str:
    served = made.deployment
    many = f"{served.num_accelerators} x " if served.num_accelerators > 1 else ""
    return f"{made.spec.name} on {many}{made.hardware.name}, estimated"


def _numbers(made: Plan) -> tuple[Number, ...]:
    best, first = at_best(made), first_step_s(at_best(made))
    prefill, decode, whole = tolerance("prefill"), tolerance("decode"), tolerance_of_request(made)

    def rate(value: float) -> str:
        return f"{significant(value)} tok/s"

    return (
        Number("TTFT", seconds(made.ttft_s), f"at best {seconds(best.ttft_s)}", _within(prefill), "prefill"),
        Number(
            "ITL",
            seconds(made.itl_s),
            f"at best {seconds(first)} first, {seconds(best.itl_s)} halfway",
            _within(decode),
            "decode",
        ),
        Number(
            "TPS per user", rate(made.tps_per_user), f"at best {rate(best.tps_per_user)}", _within(decode), "decode"
        ),
        Number("TPS in all", rate(made.tps_total), f"at best {rate(best.tps_total)}", _within(whole)),
        Number("E2E", seconds(made.e2e_s), f"at best {seconds(best.e2e_s)}", _within(whole)),
    )


def _within(known: Tolerance) -> str:
    return f"±{percent(known.median)}"


def words(made: Plan) -> list[str]:
    """What each phase waits for, which one the work is heavy in and why, and what the tolerance means."""
    told = [_heavy(made), f"{_waits(made, 'prefill')} {_waits(made, 'decode')}"]
    if made.tpot_s > made.itl_s * 1.005:
        told.append(
            f"Prompts of others come in between: the mean gap, TPOT, is {seconds(made.tpot_s)}. If all start at "
            f"once, the last waits {seconds(made.burst_ttft_s)} for its first token."
        )
    prefill, decode = tolerance("prefill"), tolerance("decode")
    told.append(
        f"± is the median error on published rows held back from the fit: {prefill.count} of prefill, of which "
        f"{percent(prefill.within_30)} are within 30 %, and {decode.count} of decode, {percent(decode.within_30)}. "
        "At best: the whole peak and bandwidth, nothing else to wait for."
    )
    return told


def _heavy(made: Plan) -> str:
    share, work = made.prefill_share, made.workload
    steps = work.output_tokens - 1
    prompts = f"a prompt of {work.prompt_tokens:,} tokens takes {seconds(made.prefill_s)}"
    answers = f"its {steps:,} decode step{'s' * (steps != 1)} {seconds(steps * made.itl_s)}"
    if made.batch_size > 1:
        answers += f", shared by {made.batch_size:,} conversations"
    if share > 0.5:
        return (
            f"Prefill-heavy: {percent(share)} of the accelerators' time is prefill. {_upper(prompts)}, {answers}."
        )
    return f"Decode-heavy: {percent(1 - share)} of the accelerators' time is decode. {_upper(prompts)}, {answers}."


_WAITS = {
    "memory": "reading weights and cache",
    "compute": "arithmetic",
    "clock of the layers": "the launches of its layers",
    "exchange": "exchanges between accelerators",
}


def _waits(made: Plan, phase: Phase) -> str:
    longest = max(parts(made, phase), key=lambda part: part.seconds)
    whole = made.prefill_s if phase == "prefill" else made.itl_s
    name = "Prefill" if phase == "prefill" else "A decode step"
    return (
        f"{name} is {made.regimes[phase]}: {seconds(longest.seconds)} of its {seconds(whole)} go to "
        f"{_WAITS[longest.name]}."
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
