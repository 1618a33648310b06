"""The models and machines of the YAML files beside this one, checked row by row."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from inference import ranges
from inference.architectures import IS_MLP_GATED, known_type
from inference.hardware import Hardware
from inference.ranges import Range, shown
from inference.safe_yaml import read_yaml
from inference.spec import Mla, ModelSpec, Moe
from inference.vector_params import vector_params

HERE = Path(__file__).parent
Row = dict[str, Any]  # straight from YAML; nothing outside this module sees one
Built = TypeVar("Built")

_MLA_KEYS = {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}
_MOE_KEYS = {
    *("num_experts", "experts_per_token", "moe_intermediate_size", "num_shared_experts"),
    "dense_first_layers",
}
_MODEL_KEYS = {
    *(
        "id",
        "hf_repo",
        "architecture",
        "num_layers",
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
    ),
    *("num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings", "tie_word_embeddings"),
    *(
        "attention_kind",
        "attention",
        "sliding_window",
        "sliding_window_layers",
        "full_attention_layers",
        "moe",
    ),
    *("total_params_computed", "total_params_published", "total_params_published_source"),
    *("total_params_difference_pct", "active_params_computed", "non_embedding_params_computed"),
    *("weights_bytes_fp16", "kv_cache_bytes_per_token_fp16", "source", "verified"),
}
_MODEL_EXTRAS = {
    *("note", "active_params_published", "active_params_published_source", "kv_growing_bytes_per_token_fp16"),
    *("kv_sliding_constant_bytes_fp16", "kv_bytes_per_token_if_expanded_to_full_heads_fp16"),
}
_HARDWARE_KEYS = {
    *("id", "name", "vendor", "year", "memory_gb", "memory_bandwidth_gb_s", "fp32_tflops"),
    *("fp16_bf16_tensor_tflops", "bf16_supported", "fp8_tflops", "int8_tops", "tdp_w", "interconnect_gb_s"),
    *("interconnect_convention", "interconnect", "ridge_flop_per_byte_16bit", "source", "source_kind"),
    *("verified", "note"),
}
_HARDWARE_EXTRAS = {"estimate_fp16_tflops", "estimate_power_w"}
_MODEL_RANGES = {
    **{"num_layers": ranges.LAYERS, "hidden_size": ranges.WIDTH, "intermediate_size": ranges.WIDTH},
    **{"num_attention_heads": ranges.HEADS, "num_key_value_heads": ranges.HEADS, "head_dim": ranges.HEAD_WIDTH},
    **{"vocab_size": ranges.VOCABULARY, "max_position_embeddings": ranges.CONTEXT},
}
_HARDWARE_RANGES = {
    **{"memory_gb": ranges.MEMORY_GB, "memory_bandwidth_gb_s": ranges.BANDWIDTH_GB_S, "tdp_w": ranges.POWER_W},
    **dict.fromkeys(("fp32_tflops", "fp16_bf16_tensor_tflops", "fp8_tflops", "int8_tops"), ranges.TFLOPS),
    **{"estimate_fp16_tflops": ranges.TFLOPS, "interconnect_gb_s": ranges.LINK_GB_S},
}


@cache
def models() -> dict[str, ModelSpec]:
    """Every catalogued model by id, 16-bit weights and cache; `dataclasses.replace` gives other widths."""
    return load(HERE / "models.yaml", "models", build_model)


@cache
def hardware() -> dict[str, Hardware]:
    """Every catalogued machine by id, datasheet numbers."""
    return load(HERE / "hardware.yaml", "hardware", build_hardware)


def load(path: Path, section: str, build: Callable[[Row], Built]) -> dict[str, Built]:
    """The rows of one file; an error names the file, the row and what is wrong with it."""
    rows: list[Row] = read_yaml(path)[section]
    built: dict[str, Built] = {}
    for number, row in enumerate(rows, start=1):
        row_id = row.get("id", f"row {number}")
        if row_id in built:
            raise ValueError(f"{path.name}: {row_id}: this id is used twice")
        try:
            built[row_id] = build(row)
        except ValueError as error:
            raise ValueError(f"{path.name}: {row_id}: {error}") from error
    return built


def build_model(row: Row) -> ModelSpec:
    """A model row as a `ModelSpec`; its shape must add up to the parameters published for it."""
    is_mla, is_moe = row.get("attention_kind") == "MLA", bool(row.get("moe"))
    _check_keys(
        row, _MODEL_KEYS | (_MLA_KEYS if is_mla else set()) | (_MOE_KEYS if is_moe else set()), _MODEL_EXTRAS
    )
    for key, within in _MODEL_RANGES.items():
        within.whole(key, row[key])
    _check_text("source", row["source"])
    spec = ModelSpec(
        id=row["id"],
        name=row["hf_repo"].split("/")[-1],
        num_layers=row["num_layers"],
        hidden_size=row["hidden_size"],
        intermediate_size=row["intermediate_size"],
        num_query_heads=row["num_attention_heads"],
        num_kv_heads=row["num_key_value_heads"],
        head_dim=row["head_dim"],
        vocab_size=row["vocab_size"],
        max_context=row["max_position_embeddings"],
        is_tied=row["tie_word_embeddings"],
        total_params=row["total_params_published"],
        layer_windows=_layer_windows(row),
        is_mlp_gated=IS_MLP_GATED[known_type(row["architecture"])],
        mla=Mla(**{key: row[key] for key in _MLA_KEYS}) if is_mla else None,
        moe=_moe(row) if is_moe else None,
        source=row["source"],
    )
    total = spec.matrix_params + vector_params(spec, row["architecture"])
    if total != spec.total_params:
        raise ValueError(f"the shape adds up to {total:,} parameters, published are {spec.total_params:,}")
    return spec


def build_hardware(row: Row) -> Hardware:
    """A hardware row as a `Hardware`: GB and TFLOP/s become bytes and FLOP/s, nulls are left out."""
    _check_keys(row, _HARDWARE_KEYS, _HARDWARE_EXTRAS)
    number = {key: _number(row, key, within) for key, within in _HARDWARE_RANGES.items()}
    if number["memory_bandwidth_gb_s"] is None:
        raise ValueError("memory_bandwidth_gb_s is null; without it nothing can be estimated")
    if not row["source"] or not isinstance(row["verified"], bool):
        raise ValueError("source must name at least one place, and verified be true or false")
    for source in row["source"]:
        _check_text("source", source)
    tflops = {
        "float32": number["fp32_tflops"],
        "float16": number["fp16_bf16_tensor_tflops"],
        "bfloat16": number["fp16_bf16_tensor_tflops"] if row["bf16_supported"] else None,
        "float8": number["fp8_tflops"],
        "int8": number["int8_tops"],
    }
    memory, link, estimate = number["memory_gb"], number["interconnect_gb_s"], number["estimate_fp16_tflops"]
    directions = {None: 1, "per_direction": 1, "total_bidirectional": 2}
    if row["interconnect_convention"] not in directions:
        raise ValueError(
            f"interconnect_convention {row['interconnect_convention']!r} is none of {list(directions)}"
        )
    return Hardware(
        id=row["id"],
        name=row["name"],
        memory_bytes=None if memory is None else memory * 1e9,
        bandwidth=number["memory_bandwidth_gb_s"] * 1e9,
        peak_flops={dtype: value * 1e12 for dtype, value in tflops.items() if value is not None},
        source="; ".join(row["source"]),
        note=row["note"],
        estimated_flops={} if estimate is None else {"float16": estimate * 1e12},
        interconnect=row["interconnect"],
        interconnect_bandwidth=None if link is None else link * 1e9 / directions[row["interconnect_convention"]],
        tdp_w=number["tdp_w"],
        is_verified=row["verified"],
    )


def _number(row: Row, key: str, within: Range) -> float | None:
    value = row.get(key)
    return None if value is None else within.number(key, value)


def _check_text(key: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be text, got {shown(value)}")


def _check_keys(row: Row, required: set[str], optional: set[str]) -> None:
    if missing := required - row.keys():
        raise ValueError(f"missing {', '.join(sorted(missing))}")
    if unknown := row.keys() - required - optional:
        raise ValueError(f"unknown {', '.join(sorted(unknown))}")


def _layer_windows(row: Row) -> tuple[int | None, ...]:
    """Window per layer. A row gives counts; in every family here each group of layers ends in a full one."""
    layers, full = row["num_layers"], row["full_attention_layers"]
    if full + row["sliding_window_layers"] != layers:
        raise ValueError(f"full_attention_layers and sliding_window_layers do not add up to {layers}")
    if full < layers and row["sliding_window"] is None:
        raise ValueError("sliding_window is null but sliding_window_layers is not 0")
    group = layers // full if full else layers + 1
    windows = tuple(None if i % group == 0 else row["sliding_window"] for i in range(1, layers + 1))
    if windows.count(None) != full:
        raise ValueError(f"{full} full-attention layers cannot end equal groups of {layers} layers")
    return windows


def _moe(row: Row) -> Moe:
    return Moe(
        num_experts=row["num_experts"],
        experts_per_token=row["experts_per_token"],
        expert_intermediate_size=row["moe_intermediate_size"],
        num_shared_experts=row["num_shared_experts"],
        num_dense_layers=row["dense_first_layers"],
    )
