"""When the cache outweighs the weights: for the plan's model beside all of the catalogue."""

from dataclasses import replace

import streamlit as st

from inference import catalogue
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.kv_cache.growth import matching_context, outweighing_batch, room
from inference.planner import Plan
from inference.planner.settings import PlanSettings
from pages.charts.kv_cache.growth import cache_growth
from pages.ui import state
from pages.ui.experiments.kv_cache.growth import rule
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card

LENGTHS = (4096, 8192, 32_768, 65_536, 131_072)


def cache_view(plan: Plan, settings: PlanSettings) -> None:
    spec, batch_size = plan.spec, plan.workload.concurrency
    has_memory = plan.hardware.memory_bytes is not None
    free = room(spec, plan.hardware, context_len=1).free_bytes if has_memory else None
    chart_card(
        lambda: cache_growth(
            spec,
            batch_size=batch_size,
            context_len=spec.max_context,
            free_bytes=free,
            machine=plan.hardware.name,
        ),
        version=plan,
        key="planner-cache-chart",
        title="KV cache against weights",
        caption=f"{spec.name}, batch {batch_size:,}; estimated",
        alt="Bytes of the KV caches against tokens of context, with the weights as a level line.",
        table=lambda: table([spec]),
    )
    with st.container(key="planner-cache-words"):
        st.text(rule(spec))
    rows = state.remembered(
        "planner-cache-rows",
        (spec, spec.weight_bits, spec.kv_bits),
        lambda: table([spec, *_others(spec)]),
    )
    table_card(
        rows,
        key="planner-outweigh",
        title="The smallest batch whose caches outweigh the weights",
        caption="by context, estimated; empty beyond the model's own. First this plan's; all at its widths",
        marked=tuple((0, column) for column in range(len(rows.columns))),
    )


def _others(spec: ModelSpec) -> list[ModelSpec]:
    """The catalogue at the plan's widths."""
    rows = catalogue.models().values()
    return [replace(row, weight_bits=spec.weight_bits, kv_bits=spec.kv_bits) for row in rows if row.id != spec.id]


def table(specs: list[ModelSpec]) -> Table:
    """The smallest batch that outweighs the weights, model by model and context by context."""
    names = ["4K", "8K", "32K", "64K", "128K"]
    return Table(["model", "weights", "tokens to match", *names], [_row(spec) for spec in specs])


def _row(spec: ModelSpec) -> list[str]:
    matching = matching_context(spec)
    batches = [
        "" if length > spec.max_context else f"{outweighing_batch(spec, context_len=length):,}"
        for length in LENGTHS
    ]
    tokens = "never" if matching is None else f"{matching:,.0f}"
    return [spec.name, scaled(spec.weight_bytes, "B"), tokens, *batches]
