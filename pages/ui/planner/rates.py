"""The efficiency values and the link of a plan: in sight, with their source, and to be changed."""

from dataclasses import replace

import streamlit as st

from inference.arithmetic.units import seconds
from inference.planner.deployment import ACROSS_S, INSIDE_S, NVLINK_BANDWIDTH, PER_NODE
from inference.planner.export import MEASURED, origin
from inference.planner.settings import PlanSettings, defaults
from pages.ui import state
from pages.ui.planner.fields import LINK, OWN, RATES, key_of_link, key_of_rate, rate_values

_LABELS = {
    "bandwidth_share": "e, share of the bandwidth",
    "layer_us": "c, µs per layer and pass",
    "flops_share": "Share of the FLOP/s",
    "attention_share": "The same in attention",
    "all_reduce_us": "One all-reduce, µs",
    "link_gb_s": "Link, GB/s one way",
}
_STEPS = {"layer_us": 1.0, "all_reduce_us": 1.0, "link_gb_s": 10.0}
_RULE = (
    "A decode step takes its bytes over e x bandwidth, and c for every layer; a prefill the time of its weights "
    "and that of its arithmetic, one after the other. In an eager stack the layers' clock runs beside the work, "
    "and the longer counts."
)


def with_rates(settings: PlanSettings, machine: str) -> PlanSettings:
    """Draw the values of this engine on this machine and give the settings that say them."""
    plain = PlanSettings(
        hardware=settings.hardware,
        own_hardware=settings.own_hardware,
        measured=settings.measured,
        engine=settings.engine,
        tensor_parallel=min(max(settings.tensor_parallel, 1), PER_NODE + 1),
    )
    if machine == OWN and settings.own_hardware is None:
        st.text("Your own hardware has to be complete first.")
        return settings
    usual, start = defaults(plain), rate_values(plain, machine)
    for name, value in start.items():
        state.widget_default(name, value)
    st.text(_RULE)
    of_decode, of_prefill = origin(usual.decode_rows), origin(usual.prefill_rows)
    if plain.measured:
        of_decode = of_prefill = MEASURED
    origins = {
        "bandwidth_share": of_decode,
        "layer_us": of_decode,
        "flops_share": of_prefill,
        "attention_share": of_prefill,
        **_origins_of_link(plain),
    }
    ways = plain.tensor_parallel
    keys = {name: key_of_rate(name, settings.engine, machine) for name in RATES}
    keys |= {name: key_of_link(name, machine, ways) for name in LINK}
    with st.container(horizontal=True, gap="medium", key="planner-rates"):
        chosen: dict[str, object] = {
            name: _number(name, keys[name], start[keys[name]], origins[name]) for name in origins
        }
    chosen["is_overlapped"] = st.toggle(
        "The layers' clock runs beside the work", key=keys["is_overlapped"], persist_state="session"
    )
    st.button("Back to the defaults", key="planner-defaults", on_click=_reset, args=(start,))
    return replace(settings, **chosen)  # type: ignore[arg-type]  # by name


def _number(name: str, key: str, start: object, origin_of: str) -> float | None:
    with st.container(width=205, gap="xsmall"):
        value = st.number_input(
            _LABELS[name],
            value=None,
            key=key,
            step=_STEPS.get(name, 0.01),
            format="%.4g",
            placeholder="none" if start is None else "the default",
            persist_state="session",
        )
        st.caption(origin_of if value in (None, start) else f"yours; {origin_of}")
    return value


def _origins_of_link(settings: PlanSettings) -> dict[str, str]:
    machine, link = settings.machine, settings.machine.interconnect_bandwidth
    if settings.tensor_parallel > PER_NODE:
        latency = f"assumed between nodes: {seconds(ACROSS_S)}"
    elif link is not None and link >= NVLINK_BANDWIDTH:
        latency = "fitted to published tensor-parallel rows over NVLink"
    else:
        latency = f"assumed inside a node without NVLink: {seconds(INSIDE_S)}"
    of_row = "your own hardware's" if settings.own_hardware else "of the hardware's row"
    return {
        "all_reduce_us": latency,
        "link_gb_s": "not known" if machine.interconnect_bandwidth is None else of_row,
    }


def _reset(start: dict[str, object]) -> None:
    for name, value in start.items():
        state.set_widget(name, value)
