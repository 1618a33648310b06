"""The widgets of the planner's form by key: the values that spell given settings, and what they are called."""

import re
from collections.abc import Mapping
from dataclasses import replace

from inference.arithmetic.spec import ModelSpec
from inference.planner.deployment import PER_NODE
from inference.planner.own.hardware import EXPERTS, SHAPE, own_model
from inference.planner.own.machine_link import machine_numbers
from inference.planner.settings import PlanSettings, in_full
from inference.planner.workloads import PRESETS

RUNNING, NUMBERS, PASTED, LINKED = "running", "numbers", "pasted", "linked"
"""Models that are no row of the catalogue: the server's own, one typed, one pasted, one that a link brought."""
HERE, OWN = "here", "own"
"""Machines that are no row, beside one that a link brought: the server itself, and one typed."""
UNNAMED = ""
"""The preset when the lengths are the learner's own."""
ENGINES = {
    "serving": "Serving engine (vLLM, SGLang, TensorRT-LLM)",
    "eager": "Eager stack (transformers)",
    "compiled": "Compiled graphs (gpt-fast)",
    "llama.cpp": "Own machine (llama.cpp, MLX)",
    "megakernel": "One kernel per step (megakernel)",
}
WHOLE = (
    *("prompt_tokens", "output_tokens", "concurrency"),
    *("tensor_parallel", "pipeline_parallel", "replicas"),
)
BITS = ("weight_bits", "kv_bits")
RATES = ("bandwidth_share", "layer_us", "flops_share", "attention_share", "is_overlapped")
LINK = ("all_reduce_us", "link_gb_s")
MACHINE = ("memory_gb", "bandwidth_gb_s", "tflops_16bit", "tflops_fp8", "tflops_fp32", "link_gb_s", "tdp_w")


def named(problem: str, names: Mapping[str, str]) -> str:
    """A message of the arithmetic, which names a field as code does, in the words of the form."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), problem)


def key(name: str) -> str:
    return f"planner-{name}"


def key_of_rate(name: str, engine: str, machine: str) -> str:
    """A change of an efficiency value holds for this engine on this machine."""
    return key(f"{name}-{engine}-{machine}")


def key_of_link(name: str, machine: str, ways: int) -> str:
    """A change of the link holds for this machine, inside a node or across."""
    return key(f"{name}-{machine}-{'across' if ways > PER_NODE else 'inside'}")


def form_values(settings: PlanSettings) -> dict[str, object]:
    """What the widgets hold so that they spell these settings. ValueError if the settings themselves are wrong."""
    machine = settings.hardware
    if settings.own_hardware:
        machine = LINKED if settings.measured else OWN
    values: dict[str, object] = {
        "model": settings.model,
        "hardware": machine,
        "engine": settings.engine,
        "preset": _preset_of(settings),
        "price": None if settings.price is None else float(settings.price),
        **{name: getattr(settings, name) for name in WHOLE},
        **{name: float(getattr(settings, name)) for name in BITS},
    }
    if settings.own_model:
        values |= shape_values(settings.own_model)
    if settings.own_hardware and not settings.measured:
        numbers = machine_numbers(settings.own_hardware)
        values |= {"hw_name": settings.own_hardware.name, **{f"hw_{name}": numbers[name] for name in MACHINE}}
    return {key(name): value for name, value in values.items()} | rate_values(settings, machine)


def _preset_of(settings: PlanSettings) -> str:
    for name, workload in PRESETS.items():
        lengths = (workload.prompt_tokens, workload.output_tokens, workload.concurrency)
        if lengths == (settings.prompt_tokens, settings.output_tokens, settings.concurrency):
            return name
    return UNNAMED


def rate_values(settings: PlanSettings, machine: str) -> dict[str, object]:
    """The efficiency values and the link in force, by widget."""
    full, ways = in_full(settings), settings.tensor_parallel
    values: dict[str, object] = {}
    for name in (*RATES, *LINK):
        value = getattr(full, name)
        where = key_of_link(name, machine, ways) if name in LINK else key_of_rate(name, settings.engine, machine)
        values[where] = value if value is None or isinstance(value, bool) else float(value)
    return values


def shape_values(spec: ModelSpec) -> dict[str, object]:
    """A model's numbers where a form of numbers can spell it, else the choice of the one the link brought."""
    moe = spec.moe
    values: dict[str, object] = {
        "own_name": spec.name,
        **{name: getattr(spec, name) for name in SHAPE},
        "is_tied": spec.is_tied,
        "is_mlp_gated": spec.is_mlp_gated,
        **{name: getattr(moe, name) if moe else 0 for name in EXPERTS},
    }
    try:
        same = typed_model(values)
    except ValueError:
        return {"model": LINKED}
    is_same = replace(same, id=spec.id, source=spec.source) == spec
    return values | {"model": NUMBERS} if is_same else {"model": LINKED}


def typed_model(values: dict[str, object]) -> ModelSpec:
    """The model that the numbers describe; without experts all of theirs are 0."""
    has_experts = bool(values["num_experts"])
    experts = {name: values[name] for name in EXPERTS} if has_experts else {}
    shape = {name: values[name] for name in (*SHAPE, "is_tied", "is_mlp_gated")}
    return own_model(str(values["own_name"]), **shape, **experts)  # type: ignore[arg-type]  # each is checked there
