"""Diagnosis: ten slow requests without a name; the learner names the cause from what they left behind."""

import random
from dataclasses import dataclass
from statistics import median

import streamlit as st

from inference.arithmetic.units import percent, scaled, seconds, significant
from inference.latency.diagnosis import CAUSES, Cause, SlowRequest
from lessons.reading.cases import load_cases
from pages.charts.latency.diagnosis import evidence
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, chart_card

NUM_OPTIONS = 5


@dataclass(frozen=True, slots=True)
class DiagnosisSettings:
    case: int = 1


_DEFAULT = DiagnosisSettings()


def diagnosis(settings: DiagnosisSettings = _DEFAULT, *, key: str = "diagnosis", is_fixed: bool = False) -> None:
    """One case: its passes and arrivals, its numbers, and the question. Nothing here tells the answer before it."""
    cases = load_cases()
    with row(key):
        controls = Controls(key, is_fixed=is_fixed)
        number = controls.select("Request", list(cases), settings.case, format_func=lambda number: f"Case {number}")
    case = cases[number]
    chart_card(
        lambda: evidence(case),
        version=number,
        key=f"{key}-chart",
        title=f"Case {number}",
        caption="One request. Passes: measured when it was recorded. Arrival at the client: simulated.",
        alt="When the server ran this request's passes, and when its events reached the client.",
        table=lambda: _passes(case),
    )
    left, right = st.columns(2)
    with left:
        table_card(facts(case), key=f"{key}-table", title="What else is known")
    with right, framed(f"{key}-question"):
        _ask(case, number, key)


def _ask(case: SlowRequest, number: int, key: str) -> None:
    chosen = st.radio(
        "What slowed this request down, or seems to?",
        options(case, number),
        index=None,
        format_func=lambda name: CAUSES[name].name,
        key=f"{key}-{number}-cause",
    )
    if chosen is None:
        st.caption("Choose one to see what the evidence says for it or against it.")
        return
    st.markdown("**Right.**" if chosen == case.cause else "**Not quite.**")
    st.text(feedback(case, chosen))


def options(case: SlowRequest, number: int) -> list[str]:
    """The cause among others, in an order that is the case's own."""
    rng = random.Random(number)
    others = rng.sample([name for name in CAUSES if name != case.cause], NUM_OPTIONS - 1)
    asked = [case.cause, *others]
    rng.shuffle(asked)
    return asked


def feedback(case: SlowRequest, chosen: str) -> str:
    """What the evidence says of this cause; for the right one also where to look, what helps, how it was made."""
    cause = CAUSES[chosen]
    said = cause.clue.format(_number(cause, cause.tell(case)))
    if chosen != case.cause:
        expected = _number(cause, cause.limit)
        return f"The evidence speaks against it: {said}; for this cause it would be {expected} or more."
    shared = ""
    if case.reused_prefill_s is not None:
        shared = f" With the shared tokens' cache the first pass takes {seconds(case.reused_prefill_s)}."
    return (
        f"The evidence: {said}.{shared}\n\nWhere to look: {cause.looks}.\n\nWhat helps: {cause.helps}\n\n"
        f"How it was made: {case.conditions} {case.model}, {case.dtype}, {case.device}, {case.threads} threads, "
        f"recorded {case.date[:10]} at a load average of {significant(case.load, 2)}."
    )


def _number(cause: Cause, value: float) -> str:
    """The tell-tale of a cause whose limit is below 1 is a share."""
    return percent(value) if cause.limit < 1 else significant(value, 2)


def _time(value_s: float) -> str:
    return seconds(value_s) if value_s else "0 ms"


def facts(case: SlowRequest) -> Table:
    """Numbers a server's and a client's logs would hold, the same rows for every case."""
    first = case.passes[0]
    per_event = median(case.client.tokens_per_event[1:])
    return Table(
        ["", ""],
        [
            ["Tokens in the prompt", f"{case.num_prompt_tokens:,}"],
            ["Of them the same as an earlier request's", f"{case.num_shared_tokens:,}"],
            ["Tokens fed in the first pass", f"{first.num_query_tokens:,}"],
            ["First pass, since the server took it up", seconds(first.forward_s)],
            ["The same pass, warm and alone", seconds(case.usual_prefill_s)],
            ["Decode pass, median", seconds(case.decode_s)],
            ["Decode pass at a short context, alone", seconds(case.usual_decode_s)],
            ["Weights read in a pass", scaled(case.weight_bytes, "B")],
            ["Wait for the worker before the first pass", _time(first.queue_s)],
            ["Longest wait for it later", _time(max(server_pass.queue_s for server_pass in case.passes[1:]))],
            [
                "Longest work for this request between passes",
                _time(max(server_pass.rebuild_s for server_pass in case.passes)),
            ],
            ["Server had the last token after", seconds(case.server_s)],
            ["Client had it after", seconds(case.client.event_times_s[-1])],
            ["Tokens in an event, after the first", significant(per_event, 2).removesuffix(".0")],
        ],
    )


def _passes(case: SlowRequest) -> Table:
    return Table(
        ["pass", "tokens fed", "context", "before it", "pass took"],
        [
            [
                str(place),
                f"{server_pass.num_query_tokens:,}",
                f"{server_pass.context_len:,}",
                _time(server_pass.queue_s + server_pass.rebuild_s),
                seconds(server_pass.forward_s),
            ]
            for place, server_pass in enumerate(case.passes)
        ],
    )
