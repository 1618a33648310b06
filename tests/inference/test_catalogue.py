"""Every catalogue row against the numbers published for it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from inference import catalogue
from inference.cost import kv_bytes, kv_bytes_per_token
from inference.hardware import ridge_point
from inference.spec import ModelSpec

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    loaded: dict[str, list[Row]] = yaml.safe_load((catalogue.HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded[name]


MODEL_ROWS, HARDWARE_ROWS = rows("models"), rows("hardware")


def norms(spec: ModelSpec, per_layer: int = 2) -> int:
    """Parameters of the norms: some of the hidden size per layer, and the last one."""
    return (per_layer * spec.num_layers + 1) * spec.hidden_size


def qkv_width(spec: ModelSpec) -> int:
    return (spec.num_query_heads + 2 * spec.num_kv_heads) * spec.head_dim


def gpt2(spec: ModelSpec) -> int:
    """Norms have a weight and a bias; every matrix but the LM head has a bias."""
    biases = qkv_width(spec) + spec.hidden_size + spec.intermediate_size + spec.hidden_size
    return 2 * norms(spec) + spec.num_layers * biases


def qwen2(spec: ModelSpec) -> int:
    """Query, key and value have biases."""
    return norms(spec) + spec.num_layers * qkv_width(spec)


def qwen3(spec: ModelSpec) -> int:
    """Queries and keys are normed per head."""
    return norms(spec) + spec.num_layers * 2 * spec.head_dim


def gemma3(spec: ModelSpec) -> int:
    """Norms before and after both blocks, and on queries and keys."""
    return norms(spec, per_layer=4) + spec.num_layers * 2 * spec.head_dim


def deepseek(spec: ModelSpec) -> int:
    """The compressed query and latent are normed; V3 balances its experts with a bias each."""
    assert spec.mla
    assert spec.moe
    balance = spec.moe.num_experts * (spec.num_layers - spec.num_dense_layers) if spec.mla.q_lora_rank else 0
    return norms(spec) + spec.num_layers * ((spec.mla.q_lora_rank or 0) + spec.mla.kv_lora_rank) + balance


def gpt_oss(spec: ModelSpec) -> int:
    """Biases everywhere and one attention sink per head; all experts' biases are in memory."""
    assert spec.moe
    return gpt_oss_active(spec) + spec.num_layers * (
        (spec.moe.num_experts - spec.moe.experts_per_token) * 3 * spec.hidden_size
    )


def gpt_oss_active(spec: ModelSpec) -> int:
    assert spec.moe
    attention = qkv_width(spec) + spec.hidden_size + spec.num_query_heads
    experts = spec.moe.num_experts + spec.moe.experts_per_token * 3 * spec.hidden_size
    return norms(spec) + spec.num_layers * (attention + experts)


VECTORS: dict[str, Callable[[ModelSpec], int]] = {
    **dict.fromkeys(("llama", "mistral", "mixtral", "phi3"), norms),
    **{"gpt2": gpt2, "qwen2": qwen2, "qwen3": qwen3, "qwen3_moe": qwen3},
    **{"gemma2": lambda spec: norms(spec, per_layer=4), "gemma3_text": gemma3},
    **{"deepseek_v2": deepseek, "deepseek_v3": deepseek, "gpt_oss": gpt_oss},
}


@pytest.mark.parametrize("row", MODEL_ROWS, ids=lambda row: row["id"])
def test_shape_adds_up_to_the_published_parameters(row: Row) -> None:
    spec = catalogue.models()[row["id"]]
    positions = spec.max_context * spec.hidden_size if row["architecture"] == "gpt2" else 0
    vectors = VECTORS[row["architecture"]](spec)
    assert spec.matrix_params + vectors + positions == row["total_params_published"]


@pytest.mark.parametrize("row", MODEL_ROWS, ids=lambda row: row["id"])
def test_one_token_meets_the_active_parameters_of_the_row(row: Row) -> None:
    spec = catalogue.models()[row["id"]]
    vectors = gpt_oss_active if row["architecture"] == "gpt_oss" else VECTORS[row["architecture"]]
    assert spec.matmul_params + vectors(spec) == row["active_params_computed"]


@pytest.mark.parametrize("row", MODEL_ROWS, ids=lambda row: row["id"])
def test_cache_bytes_are_those_of_the_row(row: Row) -> None:
    spec = catalogue.models()[row["id"]]
    assert spec.weight_bytes == row["weights_bytes_fp16"]
    assert kv_bytes_per_token(spec) == row["kv_cache_bytes_per_token_fp16"]
    slides = "kv_growing_bytes_per_token_fp16" in row
    growing = row["kv_growing_bytes_per_token_fp16" if slides else "kv_cache_bytes_per_token_fp16"]
    constant = row["kv_sliding_constant_bytes_fp16"] if slides else 0
    long = 10**6
    assert kv_bytes(spec, context_len=long) == constant + long * growing


@pytest.mark.parametrize("row", HARDWARE_ROWS, ids=lambda row: row["id"])
def test_ridge_points_are_those_of_the_row(row: Row) -> None:
    machine = catalogue.hardware()[row["id"]]
    if row["ridge_flop_per_byte_16bit"] is None:
        assert "float16" not in machine.peak_flops
    else:
        assert round(ridge_point(machine, "float16"), 1) == row["ridge_flop_per_byte_16bit"]


def test_layers_slide_in_the_published_order() -> None:
    windows = catalogue.models()["gemma-3-27b"].layer_windows
    assert windows[:7] == (1024, 1024, 1024, 1024, 1024, None, 1024)
    assert windows.count(None) == 10
    assert catalogue.models()["gpt-oss-20b"].layer_windows[:2] == (128, None)


def test_a_link_counted_in_both_directions_is_halved() -> None:
    assert catalogue.hardware()["mi300x"].interconnect_bandwidth == 448e9
    assert catalogue.hardware()["h100-sxm-80gb"].interconnect_bandwidth == 450e9
    assert catalogue.hardware()["m2-ultra"].interconnect_bandwidth is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_layers": ...}, "odd.yaml: smollm2-135m: missing num_layers"),
        ({"num_leyers": 30}, "odd.yaml: smollm2-135m: unknown num_leyers"),
        ({"moe": True}, "missing dense_first_layers, experts_per_token"),
        ({"architecture": "rwkv"}, "smollm2-135m: the layers of model type 'rwkv' are not known"),
        ({"sliding_window_layers": 3}, "do not add up to 30"),
        ({"num_layers": 31, "full_attention_layers": 31}, "total_params is 134,515,008, below"),
    ],
)
def test_a_bad_row_is_refused_with_its_file_id_and_key(change: Row, message: str, tmp_path: Path) -> None:
    row = next(row for row in MODEL_ROWS if row["id"] == "smollm2-135m") | change
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump({"models": [{k: v for k, v in row.items() if v is not ...}]}), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        catalogue.load(path, "models", catalogue.build_model)


def test_an_id_is_used_once(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump({"hardware": HARDWARE_ROWS[:1] * 2}), encoding="utf-8")
    with pytest.raises(ValueError, match="v100-sxm2-32gb: this id is used twice"):
        catalogue.load(path, "hardware", catalogue.build_hardware)


def test_the_arithmetic_layer_imports_none_of_the_heavy_packages() -> None:
    code = (
        "import sys, inference.catalogue, inference.cost, inference.roofline, inference.metrics; "
        "print(sorted({'torch', 'transformers', 'pandas', 'numpy', 'streamlit'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
