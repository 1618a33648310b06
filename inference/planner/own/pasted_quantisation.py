"""What a pasted config.json says about quantised weights: read where its kind is known, named where it is not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from inference.arithmetic.architectures import flag
from inference.arithmetic.ranges import Range
from inference.arithmetic.spec import ModelSpec, num_params
from inference.planner.own.pasted_config import Fields, config_object, decoder_fields, parsed, spec_from_json

_BITS = Range(1, 16, "bits")
MXFP4_BITS = 4.25  # 4, and one 8-bit scale per 32 weights (OCP microscaling formats 1.0)
NVFP4_BITS = 4.5  # 4, and one 8-bit scale per 16 weights (NVIDIA's TensorRT Model Optimizer)
_FIXED = {
    **dict.fromkeys(("fp8", "fbgemm_fp8", "finegrained_fp8", "eetq"), 8.0),
    "mxfp8": 8.25,  # 8, and one 8-bit scale per 32 weights
    "nvfp4": NVFP4_BITS,
}
_MODELOPT = {
    **dict.fromkeys(("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "W8A8_SQ_PER_CHANNEL", "INT8"), 8.0),
    **dict.fromkeys(("W4A16_AWQ", "W4A8_AWQ", "INT4_AWQ", "W4A16"), 4.0),
    **{"W8A16": 8.0, "NVFP4": NVFP4_BITS, "NVFP4_AWQ": NVFP4_BITS, "MXFP8": 8.25},
}
"""By `quant_algo`."""
_MLX = "mlx"
_PLACES = ("quantization_config", "quantization", "compression_config")
_WIDTHS = ("bits", "nbits", "w_bit", "num_bits", "weight_bits")


@dataclass(frozen=True, slots=True)
class Quantisation:
    """A quantisation that a file states."""

    kind: str
    """As the file calls it. Untrusted text."""
    bits: float | None
    """Bits per weight, None where this kind is not read or the layers differ.

    It is the width of the matrices that are quantised: in most files embedding and LM head stay at 16 bits, and
    integer formats keep scales too. For MXFP4 with experts, where all else stays, it is the mean of all.
    """


def quantisation(text: str) -> Quantisation | None:
    """What the file says, in its own place or the text decoder's; None if it states nothing."""
    fields = parsed(text)
    for stated in _stated(fields):
        method = stated.get("quant_method")
        kind = method if isinstance(method, str) else _name(stated)
        return Quantisation(kind[:40], _bits(kind.lower(), stated, text))
    return None


def _stated(fields: Fields) -> Iterator[Fields]:
    for place in (fields, decoder_fields(fields)):
        for name in _PLACES:
            if place.get(name) is not None:
                yield config_object(name, place[name])


def _name(stated: Fields) -> str:
    """What to call a kind that gives no method: MLX writes a group size and a width only."""
    return _MLX if {"group_size", "bits"} <= stated.keys() else "no quant_method"


def _bits(kind: str, stated: Fields, text: str) -> float | None:
    mode = str(stated.get("mode")) if kind == _MLX else kind
    if mode == "mxfp4":
        return MXFP4_BITS if kind == _MLX else _experts_at(MXFP4_BITS, spec_from_json(text))
    if mode in _FIXED:
        return _FIXED[mode]
    if kind.startswith("modelopt"):
        return _MODELOPT.get(str(stated.get("quant_algo")).upper())
    read = _READERS.get(kind, _any_width)
    return read(stated)


def _its_bits(stated: Fields) -> float:
    return _BITS.whole("quantization_config.bits", stated.get("bits"))


def _any_width(stated: Fields) -> float | None:
    """The one width that is written under a usual name, with no layer of another width."""
    layers = [part for part in stated.values() if isinstance(part, dict)]
    widths = {part[name] for part in (stated, *layers) for name in _WIDTHS if _is_width(part.get(name))}
    return widths.pop() if len(widths) == 1 else None


def _is_width(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _BITS.low <= value <= _BITS.high


def _compressed(stated: Fields) -> float | None:
    """The one width of all groups of matrices; None where they differ."""
    groups = config_object("quantization_config.config_groups", stated.get("config_groups"))
    weights = [
        config_object("weights", config_object(name, group).get("weights")) for name, group in groups.items()
    ]
    widths = {_scaled(weight) for weight in weights}
    return widths.pop() if len(widths) == 1 else None


def _scaled(weights: Fields) -> float:
    """4-bit floats come with a scale for each small group, integers with few enough to leave out."""
    bits = _BITS.whole("num_bits", weights.get("num_bits"))
    is_small_float = bits == 4 and weights.get("type") == "float"
    return {16: NVFP4_BITS, 32: MXFP4_BITS}.get(_group(weights), bits) if is_small_float else bits


def _group(weights: Fields) -> int:
    size = weights.get("group_size")
    return size if isinstance(size, int) else 0


def _bitsandbytes(stated: Fields) -> float | None:
    for name, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
        if name in stated and flag(SimpleNamespace(**stated), name):
            return bits
    return None


_READERS: dict[str, Callable[[Fields], float | None]] = {
    **dict.fromkeys(("gptq", "awq"), _its_bits),
    **{"compressed-tensors": _compressed, "bitsandbytes": _bitsandbytes},
}


def _experts_at(bits: float, spec: ModelSpec) -> float:
    """The mean over all weights when experts have this width and the rest 16 bits; of a dense model, the width."""
    if spec.moe is None:
        return bits
    num_routed = spec.num_layers - spec.num_dense_layers
    share = num_routed * spec.moe.num_experts * num_params(spec.expert_matrices) / spec.total_params
    return share * bits + (1 - share) * 16
