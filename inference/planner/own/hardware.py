"""Machines and models that a learner describes by numbers, in the units of datasheets and model cards."""

from inference.arithmetic import ranges
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range, shown
from inference.arithmetic.spec import ModelSpec, Moe
from inference.arithmetic.vector_params import UNCOUNTED, counted

SOURCE = "typed by a learner"
LONGEST_NAME = 80
SHAPE = {
    "num_layers": ranges.LAYERS,
    "hidden_size": ranges.WIDTH,
    "intermediate_size": ranges.WIDTH,
    "num_query_heads": ranges.HEADS,
    "num_kv_heads": ranges.HEADS,
    "head_dim": ranges.HEAD_WIDTH,
    "vocab_size": ranges.VOCABULARY,
    "max_context": ranges.CONTEXT,
}
EXPERTS = {
    "num_experts": ranges.EXPERTS,
    "experts_per_token": ranges.EXPERTS,
    "expert_intermediate_size": ranges.WIDTH,
    "num_shared_experts": ranges.COUNT,
    "num_dense_layers": ranges.COUNT,
}
"""What a model is described by, in the order of `Moe`; a dense one by the numbers above alone."""


def own_hardware(
    name: str,
    memory_gb: float,
    bandwidth_gb_s: float,
    tflops_16bit: float,
    *,
    tflops_fp8: float | None = None,
    tflops_fp32: float | None = None,
    link_gb_s: float | None = None,
    tdp_w: float | None = None,
) -> Hardware:
    """A machine from its datasheet: dense peaks, and a link counted in one direction.

    A peak that is left out is not supported or not known. What looks like a peak with sparsity is not refused:
    see `peak_warnings`.
    """
    label = checked_name(name)
    memory = ranges.MEMORY_GB.number("memory_gb", memory_gb)
    bandwidth = ranges.BANDWIDTH_GB_S.number("bandwidth_gb_s", bandwidth_gb_s)
    sixteen_bit = ranges.TFLOPS.number("tflops_16bit", tflops_16bit)
    tflops = {
        "float32": _optional("tflops_fp32", tflops_fp32, ranges.TFLOPS),
        **dict.fromkeys(("float16", "bfloat16"), sixteen_bit),
        "float8": _optional("tflops_fp8", tflops_fp8, ranges.TFLOPS),
    }
    link = _optional("link_gb_s", link_gb_s, ranges.LINK_GB_S)
    return Hardware(
        id=label,
        name=label,
        memory_bytes=memory * 1e9,
        bandwidth=bandwidth * 1e9,
        peak_flops={dtype: value * 1e12 for dtype, value in tflops.items() if value is not None},
        source=SOURCE,
        interconnect=None if link is None else "link",
        interconnect_bandwidth=None if link is None else link * 1e9,
        tdp_w=_optional("tdp_w", tdp_w, ranges.POWER_W),
    )


def own_model(name: str, *, is_tied: bool = False, is_mlp_gated: bool = True, **numbers: int | None) -> ModelSpec:
    """A decoder with full attention in all layers, dense or with experts in all but the first layers.

    `numbers` by the names in SHAPE and, all or none, EXPERTS. The parameters are counted with the norms of a Llama:
    two RMS norms per layer and a last one, no biases.
    """
    label = checked_name(name)
    shape = {field: within.whole(field, numbers.get(field)) for field, within in SHAPE.items()}
    experts = {"num_shared_experts": 0, "num_dense_layers": 0, **numbers}
    has_experts = any(experts.get(field) for field in EXPERTS)
    spec = ModelSpec(
        id=label,
        name=label,
        **shape,  # type: ignore[arg-type]  # by name
        is_tied=_flag("is_tied", is_tied),
        total_params=UNCOUNTED,
        layer_windows=(None,) * shape["num_layers"],
        is_mlp_gated=_flag("is_mlp_gated", is_mlp_gated),
        moe=Moe(*(within.whole(field, experts.get(field)) for field, within in EXPERTS.items()))
        if has_experts
        else None,
        source=SOURCE,
    )
    return counted(spec, "llama")


def _optional(name: str, value: float | None, within: Range) -> float | None:
    return None if value is None else within.number(name, value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return value


def checked_name(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > LONGEST_NAME:
        raise ValueError(f"name must be text of 1 to {LONGEST_NAME} characters, got {shown(value)}")
    return text
