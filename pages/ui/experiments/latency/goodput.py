"""Goodput: the requests per second that keep every limit, beside all the requests per second."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.metrics import Request, duration_s, e2e_s, goodput, tpot_s, ttft_s
from inference.arithmetic.units import percent, scaled, seconds
from inference.latency.request_events import of_trace
from inference.latency.shared_server import share
from pages.charts.latency.goodput import limits_chart
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

NUM_REQUESTS = 300
SEED = 7


@dataclass(frozen=True, slots=True)
class GoodputSettings:
    load: float = 0.7
    """Share of the time the server is busy, from 0.1 to 0.95."""
    ttft_limit_ms: int = 500
    tpot_limit_ms: int = 150
    e2e_limit_ms: int = 4_000


_DEFAULT = GoodputSettings()


def goodput_limits(settings: GoodputSettings = _DEFAULT, *, key: str = "goodput", is_fixed: bool = False) -> None:
    """Three hundred simulated requests at a chosen load, judged by three limits."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    with row(key):
        load = controls.slider("Load", settings.load, 0.1, 0.95, 0.05)
        first = controls.number("TTFT limit, ms", settings.ttft_limit_ms, 1, 600_000, step=50) / 1e3
        pace = controls.number("TPOT limit, ms", settings.tpot_limit_ms, 1, 60_000, step=10) / 1e3
        whole = controls.number("E2E limit, ms", settings.e2e_limit_ms, 1, 600_000, step=500) / 1e3
    requests = state.remembered(f"{key}-pool", load, lambda: pool(load))
    good = [is_good(request, first, pace, whole) for request in requests]
    with drawing:
        live_chart(
            lambda: limits_chart(requests, good, ttft_limit_s=first, tpot_limit_s=pace),
            version=(load, first, pace, whole),
            key=f"{key}-chart",
            title=f"{NUM_REQUESTS} requests under three limits",
            caption="Simulated: a server without batches, which gives each request one pass in turn; the passes "
            "were measured in a recorded run. Dots keep all limits; crosses do not.",
            alt="Each request's TTFT against its TPOT, with the two limits as lines.",
            table=lambda: _table(requests, good),
        )
    with st.container(key=f"{key}-words"):
        st.text(verdict(requests, good, first, pace, whole))


def pool(load: float) -> tuple[Request, ...]:
    return share(of_trace(state.recorded("lighthouse")), load=load, num_requests=NUM_REQUESTS, seed=SEED)


def is_good(request: Request, ttft_limit_s: float, tpot_limit_s: float, e2e_limit_s: float) -> bool:
    alone = goodput([request], ttft_limit_s=ttft_limit_s, tpot_limit_s=tpot_limit_s, e2e_limit_s=e2e_limit_s)
    return alone > 0


def verdict(
    requests: Sequence[Request], good: Sequence[bool], ttft_limit_s: float, tpot_limit_s: float, e2e_limit_s: float
) -> str:
    """Goodput beside throughput, and the limit that most requests miss."""
    rate = goodput(requests, ttft_limit_s=ttft_limit_s, tpot_limit_s=tpot_limit_s, e2e_limit_s=e2e_limit_s)
    through = len(requests) / duration_s(requests)
    missed = {
        "TTFT": sum(ttft_s(request) > ttft_limit_s for request in requests),
        "TPOT": sum((tpot_s(request) or 0) > tpot_limit_s for request in requests),
        "E2E": sum(e2e_s(request) > e2e_limit_s for request in requests),
    }
    worst = max(missed, key=lambda name: missed[name])
    words = (
        f"Goodput is {scaled(rate, 'requests/s')} of a throughput of {scaled(through, 'requests/s')}: "
        f"{percent(sum(good) / len(good))} of the requests keep all three limits."
    )
    if missed[worst]:
        words += f" The {worst} limit is missed most, by {missed[worst]} of {len(requests)}."
    return words + " Throughput counts the others too, though nobody is content with them." * (rate < through)


def _table(requests: Sequence[Request], good: Sequence[bool]) -> Table:
    return Table(
        ["request", "TTFT", "TPOT", "E2E", "keeps all limits"],
        [
            [
                str(number),
                seconds(ttft_s(request)),
                seconds(tpot_s(request) or 0),
                seconds(e2e_s(request)),
                "yes" if ok else "no",
            ]
            for number, (request, ok) in enumerate(zip(requests, good, strict=True), 1)
        ],
    )
