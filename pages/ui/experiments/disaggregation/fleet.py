"""Many workers, simulated: how many should prefill, and when it pays to keep the phases apart at all."""

from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from inference.arithmetic.links import LINKS
from inference.arithmetic.metrics import goodput
from inference.arithmetic.operators import arithmetic_dtype
from inference.arithmetic.units import percent, seconds, significant
from inference.catalogue import hardware, models
from inference.cost import kv_bytes_per_token
from inference.disaggregation.fleet import Fleet, poisson, simulate
from inference.disaggregation.fleet_check import SimulatedFigure, check, pace
from inference.disaggregation.pace import ComputedPace, MeasuredPace
from inference.disaggregation.records import ArrangementComparison
from pages.charts.disaggregation.two_processes import goodput_chart
from pages.ui import state
from pages.ui.experiments.compared import way
from pages.ui.experiments.disaggregation.two_processes import DEFAULT_JOB
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import finished

MACHINES = ("h100-sxm-80gb", "a100-sxm4-80gb", "l4")
HERE = "this machine's two processes"
NUM_REQUESTS = 200


@dataclass(frozen=True, slots=True)
class FleetSettings:
    passes: str = "h100-sxm-80gb"
    """Whose passes: a catalogue id, or HERE."""
    model: str = "llama-3.1-8b"
    num_workers: int = 8
    requests_in_10_s: int = 600
    prompt_tokens: int = 4_000
    output_tokens: int = 150
    ttft_limit_ms: int = 600
    tpot_limit_ms: int = 12
    link: str = "400 Gbit/s InfiniBand"
    seed: int = 1


_DEFAULT = FleetSettings()


def fleet(settings: FleetSettings = _DEFAULT, *, key: str = "fleet", is_fixed: bool = False) -> None:
    """Goodput of every split of the workers under Poisson arrivals, and the simulation against a real run."""
    drawing = framed(f"{key}-chart")
    telling = st.container(key=f"{key}-words")
    comparison = finished(DEFAULT_JOB)
    chosen = _chosen(settings, comparison, key, is_fixed=is_fixed)
    speed, per_token = _speed(chosen, comparison)
    splits, together = _goodput(chosen, speed, per_token)
    with drawing:
        of = (
            "fitted to measured ones"
            if chosen.passes == HERE
            else f"of {models()[chosen.model].name} at the roofline"
        )
        live_chart(
            lambda: goodput_chart(splits, together, chosen.num_workers),
            version=(splits, together),
            key=f"{key}-goodput",
            title="Goodput by split",
            caption=f"simulated: {NUM_REQUESTS} requests, Poisson arrivals; passes {of}",
            alt="Requests per second within both limits against the number of prefill workers.",
            table=lambda: _table(splits, together, chosen.num_workers),
        )
    with telling:
        st.text(words(splits, together, chosen))
    rows = check(comparison, _bytes_per_token()) if comparison else ()
    table_card(
        _checked(rows),
        key=f"{key}-check",
        title="The simulation against the two processes",
        caption="one worker each, the default requests; passes fitted to those timed before the requests came"
        if rows
        else "Serve both ways in the view Two processes; then both stand here.",
    )


def _chosen(
    settings: FleetSettings, comparison: ArrangementComparison | None, key: str, *, is_fixed: bool
) -> FleetSettings:
    controls, machines = Controls(key, is_fixed=is_fixed), hardware()
    with row(key):
        passes = controls.select(
            "Passes of",
            (*MACHINES, HERE) if comparison else MACHINES,
            settings.passes,
            format_func=lambda machine_id: machines[machine_id].name if machine_id in machines else machine_id,
        )
        num_workers = controls.number("Workers", settings.num_workers, 2, 16, width=120)
        tenths = controls.number("Requests in 10 s", settings.requests_in_10_s, 1, 5_000, step=10)
        prompt = controls.number("Prompt, tokens", settings.prompt_tokens, 16, 32_000, step=100)
        output = controls.number("Output, tokens", settings.output_tokens, 1, 1_000, step=10)
        ttft_ms = controls.number("TTFT limit, ms", settings.ttft_limit_ms, 1, 600_000, step=50)
        tpot_ms = controls.number("TPOT limit, ms", settings.tpot_limit_ms, 1, 60_000)
        link = controls.select("Link", [link.name for link in LINKS], settings.link)
        seed = controls.number("Seed", settings.seed, 0, 1_000_000, width=120)
    return FleetSettings(passes, settings.model, num_workers, tenths, prompt, output, ttft_ms, tpot_ms, link, seed)


def _bytes_per_token() -> float:
    engine = state.laboratory().engine
    return kv_bytes_per_token(engine.spec) if engine else 0.0


def _speed(
    chosen: FleetSettings, comparison: ArrangementComparison | None
) -> tuple[ComputedPace | MeasuredPace, float]:
    if chosen.passes == HERE and comparison:
        return pace(comparison), _bytes_per_token()
    sheet, spec = hardware()[chosen.passes], models()[chosen.model]
    return ComputedPace(spec, sheet, arithmetic_dtype(sheet, 16)), kv_bytes_per_token(spec)


@lru_cache(maxsize=64)
def _goodput(
    chosen: FleetSettings, speed: ComputedPace | MeasuredPace, bytes_per_token: float
) -> tuple[tuple[tuple[int, float], ...], float]:
    """(prefill workers, requests/s within the limits) of every split, and of all workers colocated."""
    link = next(link.bandwidth for link in LINKS if link.name == chosen.link)
    asks = poisson(
        chosen.requests_in_10_s / 10,
        NUM_REQUESTS,
        prompt_tokens=chosen.prompt_tokens,
        output_tokens=chosen.output_tokens,
        seed=chosen.seed,
    )

    def of(arrangement: Fleet) -> float:
        seen = simulate(asks, arrangement, speed, bytes_per_token=bytes_per_token)
        return goodput(seen, ttft_limit_s=chosen.ttft_limit_ms / 1e3, tpot_limit_s=chosen.tpot_limit_ms / 1e3)

    workers = chosen.num_workers
    splits = tuple((number, of(Fleet(number, workers - number, link))) for number in range(1, workers))
    return splits, of(Fleet(workers, 0, link))


def words(splits: tuple[tuple[int, float], ...], together: float, chosen: FleetSettings) -> str:
    number, best = max(splits, key=lambda split: split[1])
    if max(best, together) == 0:
        return "No request keeps both limits: choose longer limits, fewer requests a second, or more workers."
    split = f"{number} prefill worker{'s' * (number != 1)} of {chosen.num_workers}"
    rates = {
        "more": f"Apart wins: {split} give {significant(best)} requests/s within the limits, all colocated "
        f"{significant(together)}.",
        "the same": f"It makes no difference: {split} give {significant(best)} requests/s within the limits, all "
        f"colocated {significant(together)}.",
        "less": f"Colocated wins: all together give {significant(together)} requests/s within the limits; the best "
        f"split, {split}, gives {significant(best)}.",
    }
    return (
        f"{rates[way(together, best, noise=0.01)]} {significant(chosen.requests_in_10_s / 10)} arrive a second. "
        "The limits decide: try a looser one on TPOT. Keeping the phases apart steadies the pace of every stream; "
        "it does not get more work done."
    )


def _table(splits: tuple[tuple[int, float], ...], together: float, num_workers: int) -> Table:
    rows = [[str(number), str(num_workers - number), significant(value)] for number, value in splits]
    return Table(
        ["prefill workers", "decode workers", "requests/s within the limits, simulated"],
        [*rows, ["both in each", str(num_workers), significant(together)]],
    )


def _checked(rows: tuple[SimulatedFigure, ...]) -> Table:
    return Table(
        ["arrangement", "figure", "measured", "simulated", "error"],
        [
            [
                checked.arrangement,
                checked.name,
                seconds(checked.measured_s),
                seconds(checked.simulated_s),
                ("+" if checked.error >= 0 else "−") + percent(abs(checked.error)),
            ]
            for checked in rows
        ],
    )
