"""A model's shape as a link's parameters, and back: the numbers a plan needs, and nothing else of its file."""

from collections.abc import Mapping
from itertools import groupby

from inference.arithmetic import ranges
from inference.arithmetic.ranges import Range, shown
from inference.arithmetic.spec import Mla, ModelSpec, Moe

LONGEST_NAME = 80
_PARAMS = Range(1, 10**15)
_FLAG = Range(0, 1)
_WHOLE: Mapping[str, tuple[str, Range]] = {
    "layers": ("num_layers", ranges.LAYERS),
    "hidden": ("hidden_size", ranges.WIDTH),
    "inner": ("intermediate_size", ranges.WIDTH),
    "heads": ("num_query_heads", ranges.HEADS),
    "kv_heads": ("num_kv_heads", ranges.HEADS),
    "head_dim": ("head_dim", ranges.HEAD_WIDTH),
    "vocab": ("vocab_size", ranges.VOCABULARY),
    "context": ("max_context", ranges.CONTEXT),
    "params": ("total_params", _PARAMS),
}
_MLA = (Range(0, ranges.WIDTH.high), *(ranges.HEAD_WIDTH,) * 4)  # a query rank of 0: not compressed
_MOE = (ranges.EXPERTS, ranges.EXPERTS, ranges.WIDTH, ranges.COUNT, ranges.COUNT)


def shape_query(spec: ModelSpec) -> list[tuple[str, str]]:
    """Name, numbers, and the windows, the latent attention and the experts where it has them."""
    pairs = [
        ("name", spec.name[:LONGEST_NAME]),
        *((name, str(getattr(spec, to))) for name, (to, _) in _WHOLE.items()),
    ]
    pairs += [("tied", str(int(spec.is_tied))), ("gated", str(int(spec.is_mlp_gated)))]
    if any(spec.layer_windows):
        runs = ((window or 0, len(list(same))) for window, same in groupby(spec.layer_windows))
        pairs.append(("windows", "-".join(f"{window}x{count}" for window, count in runs)))
    if mla := spec.mla:
        ranks = (mla.q_lora_rank or 0, mla.kv_lora_rank)
        widths = (mla.qk_nope_head_dim, mla.qk_rope_head_dim, mla.v_head_dim)
        pairs.append(("mla", "-".join(map(str, (*ranks, *widths)))))
    if moe := spec.moe:
        experts = (moe.num_experts, moe.experts_per_token, moe.expert_intermediate_size)
        pairs.append(("moe", "-".join(map(str, (*experts, moe.num_shared_experts, moe.num_dense_layers)))))
    return pairs


def shape_from_query(query: Mapping[str, str]) -> ModelSpec:
    """What `shape_query` wrote. A `ValueError` names what is missing, no number or out of range."""
    name = query.get("name", "").strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"name must be text of 1 to {LONGEST_NAME} characters, got {shown(name)}")
    numbers = {to: _whole(query, key, within) for key, (to, within) in _WHOLE.items()}
    layers = numbers["num_layers"]
    return ModelSpec(
        id=name,
        name=name,
        **numbers,
        is_tied=bool(_whole(query, "tied", _FLAG)),
        is_mlp_gated=bool(_whole(query, "gated", _FLAG)),
        layer_windows=_windows(query["windows"], layers) if "windows" in query else (None,) * layers,
        mla=_mla(query["mla"]) if "mla" in query else None,
        moe=Moe(*_row("moe", query["moe"], _MOE)) if "moe" in query else None,
        source="from a link",
    )


def _whole(query: Mapping[str, str], name: str, within: Range) -> int:
    if name not in query:
        raise ValueError(f"{name} is missing; copy the whole link")
    return within.whole(name, _number(query[name]))


def _number(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else text


def _row(name: str, text: str, limits: tuple[Range, ...]) -> list[int]:
    values = text.split("-", len(limits))
    if len(values) != len(limits):
        raise ValueError(f"{name} must be {len(limits)} whole numbers with hyphens between, got {shown(text)}")
    return [within.whole(name, _number(value)) for value, within in zip(values, limits, strict=True)]


def _mla(text: str) -> Mla:
    rank, *others = _row("mla", text, _MLA)
    return Mla(rank or None, *others)


def _windows(text: str, num_layers: int) -> tuple[int | None, ...]:
    """From `1024x5-0x1`: five layers with a window of 1,024, then one that keeps everything."""
    windows: list[int | None] = []
    for part in text.split("-", num_layers):
        window, _, count = part.partition("x")
        size = Range(0, ranges.CONTEXT.high).whole("windows", _number(window))
        times = ranges.LAYERS.whole("windows", _number(count))
        windows += [size or None] * times
    return tuple(windows)
