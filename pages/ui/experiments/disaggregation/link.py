"""The link between a prefill and a decode worker: bytes per prompt, time on the way, and what keeps up."""

from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.links import LINKS, cache_bytes, needed_bandwidth, transfer_s
from inference.arithmetic.operators import arithmetic_dtype
from inference.arithmetic.units import scaled, seconds
from inference.catalogue import hardware, models
from inference.disaggregation.fleet_check import measured_link
from inference.disaggregation.pace import ComputedPace
from pages.charts.disaggregation.two_processes import Moved, links_chart
from pages.ui.experiments.disaggregation.two_processes import DEFAULT_JOB
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import measured


@dataclass(frozen=True, slots=True)
class LinkSettings:
    model: str = "llama-3.1-8b"
    hardware: str = "h100-sxm-80gb"
    prompt_tokens: int = 2_048


_DEFAULT = LinkSettings()


def link(settings: LinkSettings = _DEFAULT, *, key: str = "link", is_fixed: bool = False) -> None:
    """How long the cache of one prompt is on its way, over the links that machines have."""
    drawing = framed(f"{key}-chart")
    controls, shapes, machines = Controls(key, is_fixed=is_fixed), models(), hardware()
    with row(key):
        model = controls.select(
            "Model", list(shapes), settings.model, format_func=lambda model_id: shapes[model_id].name
        )
        known = [
            machine_id for machine_id, sheet in machines.items() if arithmetic_dtype(sheet, 16) in sheet.peak_flops
        ]
        machine = controls.select(
            "Hardware", known, settings.hardware, format_func=lambda machine_id: machines[machine_id].name
        )
        prompt = controls.number("Prompt, tokens", settings.prompt_tokens, 1, 131_072, step=256)
    spec, sheet = shapes[model], machines[machine]
    prompt = min(prompt, spec.max_context)
    prefill_s = ComputedPace(spec, sheet, arithmetic_dtype(sheet, 16)).prefill_s(prompt)
    size = cache_bytes(spec, prompt)
    rows = [Moved(link.name, transfer_s(spec, prompt, link)) for link in LINKS]
    with drawing:
        live_chart(
            lambda: links_chart(rows, prefill_s),
            version=(rows, prefill_s),
            key=f"{key}-links",
            title="The cache on its way",
            caption=f"{spec.name}, {prompt:,} tokens: {scaled(size, 'B')} of keys and values; all estimated, "
            "links at their nominal speed",
            alt="Time that the cache takes on each link, with the time of its prefill as a dashed line.",
            table=lambda: _table(rows),
        )
    needed = needed_bandwidth(spec, prompt, prefill_s=prefill_s)
    fast = [link.name for link in LINKS if link.bandwidth >= needed]
    st.text(
        f"A worker that prefills without rest at the roofline of {sheet.name} makes {scaled(needed, 'B/s')}: "
        + (f"{fast[0]} keeps up." if fast else "none of these links keeps up.")
        + " Sent layer by layer during the prefill, most of the way can be hidden."
    )
    st.text(_measured())


def _table(rows: list[Moved]) -> Table:
    return Table(
        ["link", "nominal", "estimated", "source"],
        [
            [link.name, scaled(link.bandwidth, "B/s"), seconds(moved.seconds), link.source]
            for link, moved in zip(LINKS, rows, strict=True)
        ],
    )


def _measured() -> str:
    """What the two processes here reached, if they have run."""
    comparison = measured(DEFAULT_JOB)
    rate = measured_link(comparison) if comparison else None
    if rate is None:
        return "Serve both ways in the view Two processes to measure what a pipe on this machine carries."
    return f"Measured here, through a pipe between the two processes: {scaled(rate, 'B/s')}, the median."
