"""What no catalogue holds: a model by its numbers or its config.json, and a machine by its datasheet."""

import streamlit as st

from inference import catalogue
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.planner.efficiency import Efficiency
from inference.planner.own.hardware import EXPERTS, SHAPE
from inference.planner.own.machine import own_efficiency, own_machine
from inference.planner.own.machine_link import typed_machine
from inference.planner.own.pasted_config import LONGEST_TEXT, spec_from_json
from inference.planner.own.pasted_quantisation import quantisation
from inference.planner.own.peak_warnings import peak_warnings
from pages.ui import state
from pages.ui.planner.fields import MACHINE, key, named, typed_model

_STARTING_MODEL, _STARTING_MACHINE = "llama-3.1-8b", "h100-sxm-80gb"
_LABELS = {
    "num_layers": "Layers",
    "hidden_size": "Hidden size",
    "intermediate_size": "MLP width",
    "num_query_heads": "Query heads",
    "num_kv_heads": "KV heads",
    "head_dim": "Head width",
    "vocab_size": "Vocabulary",
    "max_context": "Longest context",
    "num_experts": "Experts (0: none)",
    "experts_per_token": "Experts per token",
    "expert_intermediate_size": "Expert width",
    "num_shared_experts": "Shared experts",
    "num_dense_layers": "Dense layers first",
    "memory_gb": "Memory, GB",
    "bandwidth_gb_s": "Bandwidth, GB/s",
    "tflops_16bit": "16-bit TFLOP/s, dense",
    "tflops_fp8": "FP8 TFLOP/s, dense",
    "tflops_fp32": "FP32 TFLOP/s",
    "link_gb_s": "Link, GB/s one way",
    "tdp_w": "TDP, W",
}


def model_by_numbers() -> ModelSpec:
    """Fields that begin as a Llama-3.1-8B. ValueError names what is wrong with one of them."""
    start = catalogue.models()[_STARTING_MODEL]
    state.widget_default(key("own_name"), "My model")
    values: dict[str, object] = {}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="planner-own-model"):
        values["own_name"] = st.text_input(
            "Name", key=key("own_name"), max_chars=80, width=170, persist_state="session"
        )
        for name in (*SHAPE, *EXPERTS):
            state.widget_default(key(name), 0 if name in EXPERTS else getattr(start, name))
            values[name] = st.number_input(_LABELS[name], key=key(name), step=1, width=130, persist_state="session")
        for name, label in (("is_tied", "LM head tied"), ("is_mlp_gated", "Gated MLP")):
            state.widget_default(key(name), getattr(start, name))
            values[name] = st.toggle(label, key=key(name), persist_state="session")
    try:
        spec = typed_model(values)
    except ValueError as error:
        raise ValueError(named(str(error), _LABELS)) from None
    st.text(f"{spec.total_params:,} parameters, counted from these numbers.")
    return spec


def model_from_config() -> ModelSpec:
    """A pasted file, read and never run. ValueError names what is missing, unknown or absurd in it."""
    text = st.text_area(
        "config.json of a Hugging Face model",
        key=key("config"),
        height=120,
        max_chars=3 * LONGEST_TEXT,  # above LONGEST_TEXT words say so; a far longer text the browser leaves out
        help=f"At most {LONGEST_TEXT:,} characters; real files have a few thousand.",
        placeholder='{"model_type": "llama", …}',
        persist_state="session",
    )
    if not text.strip():
        raise ValueError(
            "paste the config.json of the model, from its first brace to its last; the field takes at most "
            f"{LONGEST_TEXT:,} characters and leaves a far longer text out"
        )
    spec = spec_from_json(text)
    caption = f"{spec.total_params:,} parameters in {spec.num_layers} layers, counted from the file."
    if stated := quantisation(text):
        caption += f" Its weights are quantised ({stated.kind}): "
        caption += (
            f"set Weight bits to {stated.bits:.3g}" if stated.bits else "their width is not read; set Weight bits"
        )
        caption += " if you serve it so."
    st.text(caption)
    return spec


def machine_by_numbers() -> Hardware:
    """Fields that begin as an H100; what smells of sparsity is told, not refused."""
    start = catalogue.hardware()[_STARTING_MACHINE]
    starts = {
        "memory_gb": (start.memory_bytes or 0) / 1e9,
        "bandwidth_gb_s": start.bandwidth / 1e9,
        "tflops_16bit": start.peak_flops["float16"] / 1e12,
    }
    state.widget_default(key("hw_name"), "My accelerator")
    numbers: dict[str, float | None] = {}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="planner-own-hardware"):
        name = st.text_input("Name", key=key("hw_name"), max_chars=80, width=170, persist_state="session")
        for field in MACHINE:
            state.widget_default(key(f"hw_{field}"), starts.get(field))
            numbers[field] = st.number_input(
                _LABELS[field],
                value=None,
                key=key(f"hw_{field}"),
                step=1.0,
                format="%.6g",
                width=160,
                placeholder="not known",
                persist_state="session",
            )
    machine = typed_machine(name, numbers)
    for warning in peak_warnings(machine):
        st.text(warning)
    return machine


def here() -> tuple[Hardware, Efficiency] | None:
    """This machine by its measured roofs, and the running engine's shares of them; None before they are known."""
    lab = state.laboratory()
    if lab.engine is None or lab.ceilings is None:
        return None
    spec, is_overlapped = lab.engine.spec, not lab.engine.is_on_cpu  # a CPU computes while Python waits
    return own_machine(spec, lab.ceilings), own_efficiency(spec, lab.ceilings, is_overlapped=is_overlapped)
