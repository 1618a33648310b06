"""One run, many readings: the same event times as each benchmark tool prints them, by its version."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.definitions import readings
from inference.arithmetic.metrics import Request
from inference.arithmetic.units import seconds
from inference.latency.request_events import EXAMPLES, in_chunks, of_trace
from pages.charts.latency.readings import METRICS, NO_NUMBER, rows, timeline
from pages.ui import state
from pages.ui.experiments.latency.readings_text import difference
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

OWN = "Your own run"
RECORDED = "A recorded run"
CHUNKS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    request: str = "Example B: two tokens per chunk"
    """One of EXAMPLES, OWN or RECORDED."""
    tokens_per_chunk: int = 1
    """How a run or example of single tokens is sent."""


_DEFAULT = ReadingSettings()


def tool_readings(settings: ReadingSettings = _DEFAULT, *, key: str = "readings", is_fixed: bool = False) -> None:
    """The request's events on a line, what each tool prints for them, and one sentence on where they part."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    with row(key):
        name = controls.select("Request", [*EXAMPLES, OWN, RECORDED], settings.request, width=300)
        has_own_chunks = any(set(request.tokens_per_event) != {1} for request in EXAMPLES.get(name, ()))
        size = 1 if has_own_chunks else controls.choice("Tokens per chunk", CHUNKS, settings.tokens_per_chunk)
    requests = pool(name, size)
    with drawing:
        if not requests:
            st.text("You have no run yet: go to Step through, press Prefill and a few times Next token.")
            return
        is_measured = name in (OWN, RECORDED)
        live_chart(
            lambda: timeline(requests, is_measured=is_measured),
            version=(requests, is_measured),
            key=f"{key}-chart",
            title="What the client saw",
            caption=_caption(name, size),
            alt="When the request was sent, when its first token and every later event arrived.",
            table=lambda: _events(requests),
        )
    read = readings(requests)
    with st.container(key=f"{key}-words"):
        st.text(difference(requests, read))
    written, odd = rows(read)
    table_card(
        Table(["Tool and version", *METRICS], written),
        key=f"{key}-table",
        title="What each tool prints",
        caption="Means, each by a definition that was tried against the tool's own code. Bold: not what most "
        f"print. {NO_NUMBER}: it has no such number.",
        marked=odd,
    )


def pool(name: str, tokens_per_chunk: int) -> tuple[Request, ...]:
    """The requests of this name; empty if the learner has no run yet."""
    if name in EXAMPLES:
        chosen = EXAMPLES[name]
        return tuple(
            in_chunks(request, tokens_per_chunk) if set(request.tokens_per_event) == {1} else request
            for request in chosen
        )
    run = state.live_run() if name == OWN else None
    if name == OWN and (run is None or not run.trace.steps):
        return ()
    return (of_trace(run.trace if run else state.recorded("lighthouse"), tokens_per_chunk),)


def _caption(name: str, tokens_per_chunk: int) -> str:
    if name not in (OWN, RECORDED):
        return "A worked example: round numbers, no measurement."
    chunks = "" if tokens_per_chunk == 1 else f" Sent {tokens_per_chunk} tokens at a time: simulated."
    return f"Measured passes; your pauses between steps are left out.{chunks}"


def _events(requests: Sequence[Request]) -> Table:
    return Table(
        ["request", "event", "after", "tokens"],
        [
            [str(number), str(place), seconds(time_s - request.sent_s), str(tokens)]
            for number, request in enumerate(requests, 1)
            for place, (time_s, tokens) in enumerate(
                zip(request.event_times_s, request.tokens_per_event, strict=True), 1
            )
        ],
    )
