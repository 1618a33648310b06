"""The answer of a plan: its numbers, the floor under each, how far off they may be, and why they are so."""

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from inference.arithmetic.units import percent, seconds, significant
from inference.planner import Plan, at_best
from inference.planner.parts import CLOCK, COMPUTE, EXCHANGE, MEMORY, first_step_s, parts
from inference.planner.plan import Phase
from inference.planner.published.error import select
from inference.planner.published.scope import other_widths, outside
from inference.planner.published.tolerance import Tolerances, checked, tolerance
from pages.ui.planner.ledger import fit

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
    """Of what it was checked, and how far off that was; that it was not."""
    phase: str = ""
    """Whose colour it has."""


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """All that the card says; names may be untrusted, so it is set as text."""

    head: str
    numbers: tuple[Number, ...] = ()
    missing: str = ""
    """That it does not fit, and what would."""
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def show_answer(answer: PlanAnswer, *, key: str = "planner-answer") -> None:
    _component(data=asdict(answer), key=key)


def answer(plan: Plan) -> PlanAnswer:
    """The card of this plan."""
    missing = "" if plan.memory.fits else fit(plan)
    return PlanAnswer(_head(plan), _numbers(plan), missing, tuple(words(plan)), outside(plan))


def _head(plan: Plan) -> str:
    served = plan.deployment
    many = f"{served.num_accelerators} x " if served.num_accelerators > 1 else ""
    return f"{plan.spec.name} on {many}{plan.hardware.name}, estimated"


def _numbers(plan: Plan) -> tuple[Number, ...]:
    best, first = at_best(plan), first_step_s(at_best(plan))
    known = Tolerances("", "", "", "") if plan.hardware.is_measured else checked(plan)

    def rate(value: float) -> str:
        return f"{significant(value)} tok/s"

    gaps: tuple[Number, ...] = (
        Number(
            "ITL",
            seconds(plan.itl_s),
            f"at best {seconds(first)} first, {seconds(best.itl_s)} halfway",
            known.itl,
            "decode",
        ),
        Number(
            "TPS per user",
            rate(plan.tps_per_user),
            f"at best {rate(best.tps_per_user)}",
            known.tps_per_user,
            "decode",
        ),
    )
    if plan.workload.output_tokens == 1:
        gaps = tuple(Number(gap.label, "none", "one token has no gap", "", "decode") for gap in gaps)
    return (
        Number("TTFT, no queue", seconds(plan.ttft_s), f"at best {seconds(best.ttft_s)}", known.ttft, "prefill"),
        *gaps,
        Number("TPS in all", rate(plan.tps_total), f"at best {rate(best.tps_total)}", known.whole),
        Number("E2E, no queue", seconds(plan.e2e_s), f"at best {seconds(best.e2e_s)}", known.whole),
    )


def words(plan: Plan) -> list[str]:
    """What each phase waits for, which one the work is heavy in and why, and what the tolerance means."""
    sentences = [_heavy(plan), f"{_waits(plan, 'prefill')} {_waits(plan, 'decode')}"]
    if widths := other_widths(plan):
        sentences.append(widths)
    sentences.append("No queue is counted: how long a request waits for a place depends on when requests arrive.")
    if plan.tpot_s > plan.itl_s * 1.005:
        sentences.append(
            f"Prompts of others come in between: the mean gap, TPOT, is {seconds(plan.tpot_s)}. If all start at "
            f"once, the last waits {seconds(plan.burst_ttft_s)} for its first token."
        )
    served = plan.deployment
    floor = "At best: the whole peak and bandwidth, and nothing an engine adds" + (
        "; the exchanges between accelerators stay." if served.num_accelerators > served.replicas else "."
    )
    return [*sentences, floor if plan.hardware.is_measured else f"{_tolerance_in_words()} {floor}"]


def _tolerance_in_words() -> str:
    prefill, decode = tolerance("prefill"), tolerance("decode")
    return (
        f"Of all engines' published passes held back from the fit, {prefill.count} prefills are "
        f"{percent(prefill.median)} off at the median, {percent(prefill.within_30)} of them within 30 %; "
        f"{decode.count} decode steps {percent(decode.median)}, {percent(decode.within_30)} of them within 30 %. "
        f"{len(select('decode', is_held_back=True, batch_size=1))} of the steps have one sequence: they say little "
        "of a server with many users."
    )


def _heavy(plan: Plan) -> str:
    share, work, many = plan.prefill_share, plan.workload, plan.per_replica
    name, part = ("Prefill-heavy", share) if share > 0.5 else ("Decode-heavy", 1 - share)
    phase = "prefill" if share > 0.5 else "decode"
    steps = work.output_tokens - 1
    if many == 1:
        why = (
            f"the prompt of {work.prompt_tokens:,} tokens takes one pass of {seconds(plan.prefill_s)}, its answer "
            f"{steps:,} step{'s' * (steps != 1)} of {seconds(plan.itl_s)}"
        )
    else:
        is_piped = plan.deployment.pipeline_parallel > 1
        why = (
            f"{many:,} prompts of {work.prompt_tokens:,} tokens take {seconds(plan.prompt_s)} each, "
            f"{'the stages at work on different ones' if is_piped else 'one after another'}; their answers share "
            f"{steps:,} step{'s' * (steps != 1)} of {seconds(plan.itl_s)}"
        )
    return f"{name}: {percent(part)} of the accelerators' time is {phase}, because {why}."


_WAITS = {
    MEMORY: "reading weights and cache",
    COMPUTE: "arithmetic",
    CLOCK: "what each layer costs beside bytes and FLOPs",
    EXCHANGE: "exchanges between accelerators",
}


def _waits(plan: Plan, phase: Phase) -> str:
    longest = max(parts(plan, phase), key=lambda part: part.seconds)
    whole = plan.prefill_s if phase == "prefill" else plan.itl_s
    name = "Prefill" if phase == "prefill" else "A decode step"
    return (
        f"{name} is {plan.regimes[phase]}: {seconds(longest.seconds)} of its {seconds(whole)} go to "
        f"{_WAITS[longest.name]}."
    )
