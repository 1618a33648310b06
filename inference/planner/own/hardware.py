"""Machines and models that a learner describes by numbers, in the units of datasheets and model cards."""

from inference.arithmetic import ranges
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range, shown
from inference.arithmetic.spec import ModelSpec, Moe
from inference.arithmetic.vector_params import UNCOUNTED, counted

SOURCE = "typed by a learner"
_LONGEST_NAME = 80


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
    label = _name(name)
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


def own_model(
    name: str,
    *,
    num_layers: int,
    hidden_size: int,
    intermediate_size: int,
    num_query_heads: int,
    num_kv_heads: int,
    head_dim: int,
    vocab_size: int,
    max_context: int,
    is_tied: bool = False,
    is_mlp_gated: bool = True,
    num_experts: int | None = None,
    experts_per_token: int | None = None,
    expert_intermediate_size: int | None = None,
    num_shared_experts: int = 0,
    num_dense_layers: int = 0,
) -> ModelSpec:
    """A decoder with full attention in all layers, dense or with experts in all but the first layers.

    Its parameters are counted with the norms of a Llama: two RMS norms per layer and a last one, no biases.
    """
    label = _name(name)
    experts = (num_experts, experts_per_token, expert_intermediate_size, num_shared_experts, num_dense_layers)
    layers = ranges.LAYERS.whole("num_layers", num_layers)
    spec = ModelSpec(
        id=label,
        name=label,
        num_layers=layers,
        hidden_size=ranges.WIDTH.whole("hidden_size", hidden_size),
        intermediate_size=ranges.WIDTH.whole("intermediate_size", intermediate_size),
        num_query_heads=ranges.HEADS.whole("num_query_heads", num_query_heads),
        num_kv_heads=ranges.HEADS.whole("num_kv_heads", num_kv_heads),
        head_dim=ranges.HEAD_WIDTH.whole("head_dim", head_dim),
        vocab_size=ranges.VOCABULARY.whole("vocab_size", vocab_size),
        max_context=ranges.CONTEXT.whole("max_context", max_context),
        is_tied=_flag("is_tied", is_tied),
        total_params=UNCOUNTED,
        layer_windows=(None,) * layers,
        is_mlp_gated=_flag("is_mlp_gated", is_mlp_gated),
        moe=_experts(*experts) if any(experts) else None,
        source=SOURCE,
    )
    return counted(spec, "llama")


def _experts(
    num_experts: int | None, per_token: int | None, width: int | None, num_shared: int, num_dense: int
) -> Moe:
    return Moe(
        num_experts=ranges.EXPERTS.whole("num_experts", num_experts),
        experts_per_token=ranges.EXPERTS.whole("experts_per_token", per_token),
        expert_intermediate_size=ranges.WIDTH.whole("expert_intermediate_size", width),
        num_shared_experts=ranges.COUNT.whole("num_shared_experts", num_shared),
        num_dense_layers=ranges.COUNT.whole("num_dense_layers", num_dense),
    )


def _optional(name: str, value: float | None, within: Range) -> float | None:
    return None if value is None else within.number(name, value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return value


def _name(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST_NAME:
        raise ValueError(f"name must be text of 1 to {_LONGEST_NAME} characters, got {shown(value)}")
    return text
