"""Prefill and decode in two processes, against both in each: what readers wait, and what moving the cache costs."""

import statistics
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.metrics import Request, itl_s, percentile, tps_total, ttft_s
from inference.arithmetic.units import scaled, seconds, significant
from inference.disaggregation.job import comparison_job
from inference.disaggregation.records import (
    PRESETS,
    Arrangement,
    ArrangementComparison,
    ArrangementRun,
    is_done,
    requests,
    scenario,
)
from pages.charts.disaggregation.two_processes import gaps_chart, lanes_chart
from pages.ui.experiments.compared import way
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import measured, run_job
from pages.ui.parts.prediction import Bins, Outcome, Prediction

_TIMES_THE_USUAL = Bins(((1.3, "nothing"), (3.0, "every token a little later")), "one long pause")
PREDICTION = Prediction(
    "long-prompt-among-streams",
    "Two workers each write for two readers. A prompt of 400 tokens arrives at one of them. What do its two "
    "readers notice, if that worker also does the prefill?",
    _TIMES_THE_USUAL.options,
)


@dataclass(frozen=True, slots=True)
class TwoProcessesSettings:
    preset: str = PRESETS[0]
    num_streams: int = 4
    long_prompt: int = 400


_DEFAULT = TwoProcessesSettings()
DEFAULT_JOB = comparison_job(scenario(PRESETS[0]))
"""What the settings above ask for: the prediction, the link and the fleet speak of its result."""


def two_processes(
    settings: TwoProcessesSettings = _DEFAULT, *, key: str = "two-processes", is_fixed: bool = False
) -> None:
    """Serve the same requests both ways on the same two processes, and show what every reader waited."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        preset = controls.select("Requests", PRESETS, settings.preset, width=260)
        num_streams = controls.number("Streams", settings.num_streams, 1, 12)
        long_prompt = controls.number("Long prompt, tokens", settings.long_prompt, 16, 2_000, step=16, width=180)
    job = comparison_job(scenario(preset, num_streams=num_streams, long_prompt=long_prompt))
    comparison = run_job(job, key=key, label="Serve both ways")
    chart_card(
        lambda: gaps_chart(comparison),
        version=comparison,
        key=f"{key}-gaps",
        title="What every reader waits between two tokens",
        caption="one circle per token, measured; above both workers do both phases, below one prefills "
        "and the other decodes",
        alt="Time between tokens over the run: colocated with tall outliers whenever a long prompt is "
        "prefilled, disaggregated without them.",
        table=lambda: _gap_table(comparison),
    )
    st.text(words(comparison))
    chart_card(
        lambda: lanes_chart(comparison),
        version=comparison,
        key=f"{key}-lanes",
        title="What each worker did",
        caption="prefill passes are tall, decode passes are low; between them the caches that were sent",
        alt="A lane per worker with its prefill and decode passes over time.",
        table=lambda: _pass_table(comparison),
    )
    table_card(_numbers(comparison), key=f"{key}-numbers", caption=_where(comparison))


def _numbers(comparison: ArrangementComparison | None) -> Table:
    columns = ["measured", *(served.arrangement for served in comparison.served)] if comparison else ["measured"]
    rows: dict[str, list[str]] = {
        name: []
        for name in ("ITL, p50", "ITL, p95", "ITL, p99", "TTFT, median", "TTFT, longest", "output tokens/s")
    }
    for served in comparison.served if comparison else ():
        seen, gaps = _seen(served, comparison)
        firsts = [ttft_s(request) for request in seen]
        for percent in (50, 95, 99):
            rows[f"ITL, p{percent}"].append(seconds(percentile(gaps, percent)) if gaps else "")
        rows["TTFT, median"].append(seconds(statistics.median(firsts)) if firsts else "")
        rows["TTFT, longest"].append(seconds(max(firsts)) if firsts else "")
        rows["output tokens/s"].append(f"{tps_total(seen):.3g}" if seen else "")
    moved = comparison.of("disaggregated") if comparison else None
    if moved and moved.transfers:
        sizes = [transfer.num_bytes for transfer in moved.transfers]
        rows["bytes moved, largest prompt"] = ["0", scaled(max(sizes), "B")]
        rows["bytes moved in all"] = ["0", scaled(sum(sizes), "B")]
        rows["time to move, median"] = [
            "",
            seconds(statistics.median(transfer.end_s - transfer.start_s for transfer in moved.transfers)),
        ]
    return Table(columns, [[name, *values] for name, values in rows.items()])


def _seen(served: ArrangementRun, comparison: ArrangementComparison | None) -> tuple[list[Request], list[float]]:
    """What the clients saw, and every gap between two tokens."""
    seen = list(requests(served, comparison.asks).values()) if comparison else []
    return seen, [gap for request in seen for gap in itl_s(request)]


def _where(comparison: ArrangementComparison | None) -> str:
    if not comparison:
        return "Both arrangements run on the same two processes, one after the other."
    cores = "on processor cores of its own" if comparison.is_pinned else "not bound to processor cores"
    threads = f"{comparison.threads_per_worker} thread{'s' * (comparison.threads_per_worker > 1)}"
    return (
        f"Two processes share the weights in memory; each has {threads}, {cores}. Requests are dealt out in turn."
    )


def _gap_table(comparison: ArrangementComparison | None) -> Table:
    columns = ["arrangement", "request", "arrived", "TTFT", "ITL, median", "ITL, longest", "tokens"]
    rows = []
    for served in comparison.served if comparison else ():
        for place, request in requests(served, comparison.asks).items() if comparison else ():
            gaps = itl_s(request)
            rows.append(
                [
                    served.arrangement,
                    str(place + 1),
                    seconds(request.sent_s) if request.sent_s else "0 s",
                    seconds(ttft_s(request)),
                    seconds(statistics.median(gaps)) if gaps else "",
                    seconds(max(gaps)) if gaps else "",
                    str(request.num_output_tokens),
                ]
            )
    return Table(columns, rows)


def _pass_table(comparison: ArrangementComparison | None) -> Table:
    columns = ["arrangement", "worker", "phase", "requests", "from", "took"]
    return Table(
        columns,
        [
            [
                served.arrangement,
                ("first", "second")[worker_pass.worker],
                worker_pass.phase,
                ", ".join(str(place + 1) for place in worker_pass.asks),
                f"{worker_pass.start_s:.3f} s",
                seconds(worker_pass.end_s - worker_pass.start_s),
            ]
            for served in (comparison.served if comparison else ())
            for worker_pass in served.passes
        ],
    )


def _figures(comparison: ArrangementComparison | None) -> dict[Arrangement, tuple[float, float, float]]:
    """Longest gap, longest TTFT, tokens a second, of the arrangements that were served to the end."""
    figures = {}
    for served in comparison.served if comparison else ():
        seen, gaps = _seen(served, comparison)
        if comparison and gaps and is_done(served, comparison.asks):
            figures[served.arrangement] = (max(gaps), max(map(ttft_s, seen)), tps_total(seen))
    return figures


def words(comparison: ArrangementComparison | None) -> str:
    figures = _figures(comparison)
    if len(figures) < 2:
        return (
            "Disaggregation helps decode: a prompt no longer stands between two tokens of somebody else. Its price "
            "is the cache that must move, and a worker that may stand idle. Serve both ways to see each of them."
        )
    (gap_a, ttft_a, tps_a), (gap_b, ttft_b, tps_b) = figures["colocated"], figures["disaggregated"]
    gap = f"The longest pause between two tokens was {seconds(gap_a)} colocated and {seconds(gap_b)} disaggregated."
    price = (
        f"The price: the longest TTFT went from {seconds(ttft_a)} to {seconds(ttft_b)}, because one worker now "
        "does every prefill."
        if way(ttft_a, ttft_b) == "more"
        else f"The longest TTFT went from {seconds(ttft_a)} to {seconds(ttft_b)}."
    )
    output = {
        "more": "more here, because both workers had work",
        "the same": "so by itself it adds none",
        "less": "less, because one worker stood idle",
    }
    rate = (
        f"Output in all: {significant(tps_a)} and {significant(tps_b)} tokens/s, {output[way(tps_a, tps_b)]}. It "
        "pays where prompts are long enough to stall streams and there is work for both workers."
    )
    return f"{gap} {price} {rate}"


def outcome() -> Outcome | None:
    """The longest pause against the usual one, colocated, from the default run; None before there is one."""
    comparison = measured(DEFAULT_JOB)
    served = comparison.of("colocated") if comparison else None
    if not comparison or not served or "colocated" not in _figures(comparison):
        return None
    gaps = [gap for place in range(4) for gap in itl_s(requests(served, comparison.asks)[place])]
    usual_s, longest_s = statistics.median(gaps), max(gaps)
    return Outcome(
        _TIMES_THE_USUAL.name_of(longest_s / usual_s),
        f"Measured, colocated: usually {seconds(usual_s)} between two tokens, at the longest {seconds(longest_s)}.",
    )
