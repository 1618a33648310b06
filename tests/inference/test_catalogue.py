"""Every catalogue row against the numbers published for it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from inference import catalogue
from inference.arithmetic.hardware import ridge_point
from inference.arithmetic.vector_params import vector_params
from inference.catalogue.rows import HardwareRow, ModelRow, load
from inference.cost import kv_bytes, kv_bytes_per_token
from inference.files.safe_yaml import read_yaml

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    loaded: dict[str, list[Row]] = read_yaml(catalogue.HERE / f"{name}.yaml")
    return loaded[name]


MOE = {
    **{"num_experts": 8, "experts_per_token": 2, "expert_intermediate_size": 64},
    **{"num_shared_experts": 0, "num_dense_layers": 0},
}
MODEL_ROWS, HARDWARE_ROWS = rows("models"), rows("hardware")


@pytest.mark.parametrize("row", MODEL_ROWS, ids=lambda row: row["id"])
def test_a_model_is_as_large_as_its_row_says_it_was_published(row: Row) -> None:
    spec = catalogue.models()[row["id"]]
    vectors = vector_params(spec, row["architecture"])
    assert spec.matrix_params + vectors == row["total_params_published"]
    if row["architecture"] == "gpt2":
        vectors -= spec.max_context * spec.hidden_size  # the position table is a look-up
    if row["architecture"] == "gpt_oss":  # three biases of the hidden size in each expert, of the active ones here
        vectors -= (
            spec.num_layers * (row["moe"]["num_experts"] - row["moe"]["experts_per_token"]) * 3 * spec.hidden_size
        )
    assert spec.matmul_params + vectors == row["active_params_computed"]
    assert spec.weight_bytes == row["weights_bytes_fp16"]
    assert kv_bytes_per_token(spec) == row["kv_cache_bytes_per_token_fp16"]
    slides = "kv_growing_bytes_per_token_fp16" in row
    growing = row["kv_growing_bytes_per_token_fp16" if slides else "kv_cache_bytes_per_token_fp16"]
    constant = row["kv_sliding_constant_bytes_fp16"] if slides else 0
    long = 10**6
    assert kv_bytes(spec, context_len=long) == constant + long * growing


@pytest.mark.parametrize("row", HARDWARE_ROWS, ids=lambda row: row["id"])
def test_a_machine_is_as_its_row_says(row: Row) -> None:
    machine = catalogue.hardware()[row["id"]]
    assert machine.tdp_w == row["tdp_w"]
    assert machine.is_verified == row["verified"]
    assert machine.note == row["note"]
    assert all(source in machine.source for source in row["source"])
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
        ({"moe": {"num_experts": 4}}, "missing moe.experts_per_token; missing moe.expert_intermediate_size"),
        ({"moe": MOE | {"num_experts": 0}}, "moe: num_experts must be from 1 to 10,000, got 0"),
        ({"moe": MOE | {"experts_per_token": 9}}, "experts_per_token must be at most num_experts, got 9 and 8"),
        ({"attention_kind": "MLA"}, "attention_kind is MLA; give mla with MLA"),
        ({"verified": "yes"}, "verified: Input should be a valid boolean, got 'yes'"),
        ({"architecture": "rwkv"}, "smollm2-135m: the layers of model type 'rwkv' are not known"),
        ({"sliding_window_layers": 3}, "do not add up to 30"),
        ({"num_layers": 31, "full_attention_layers": 31}, "total_params is 134,515,008, below"),
        ({"num_layers": 29, "full_attention_layers": 29}, "adds up to 130,974,912 parameters, published are 134,"),
        ({"hidden_size": "576"}, "hidden_size must be a whole number .*, got '576'; write it without quotes"),
        ({"vocab_size": 10**9}, "vocab_size must be from 1 to 10,000,000"),
        ({"source": " "}, "source: String should have at least 1 character, got ' '"),
    ],
)
def test_a_bad_row_is_refused_with_its_file_id_and_key(change: Row, message: str, tmp_path: Path) -> None:
    row = next(row for row in MODEL_ROWS if row["id"] == "smollm2-135m") | change
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump({"models": [{k: v for k, v in row.items() if v is not ...}]}), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load(path, ModelRow, "models")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"memory_bandwidth_gb_s": 3.35},
            "memory_bandwidth_gb_s must be from 10 to 100,000 GB/s, got 3.35; 1 TB/s",
        ),
        ({"memory_bandwidth_gb_s": None}, "memory_bandwidth_gb_s must be a number from 10 .*, got None"),
        ({"memory_bandwidth_gb_s": "3350"}, "memory_bandwidth_gb_s must be a number"),
        ({"memory_gb": 80_000_000}, "memory_gb must be from 0.5 to 20,000 GB"),
        ({"fp16_bf16_tensor_tflops": 989.4e12}, "fp16_bf16_tensor_tflops must be from"),
        ({"fp8_tflops": float("nan")}, "fp8_tflops must be from"),
        ({"int8_tops": -1}, "int8_tops must be from"),
        ({"tdp_w": 0}, "tdp_w must be from 1 to 50,000 W, got 0"),
        ({"interconnect_gb_s": 450e9}, "interconnect_gb_s must be from"),
        (
            {"interconnect_convention": "both"},
            "interconnect_convention: Input should be 'per_direction', .*, got 'both'",
        ),
        ({"verified": "yes"}, "verified: Input should be a valid boolean, got 'yes'"),
        ({"source": []}, "source: List should have at least 1 item"),
        ({"source": [""]}, r"source\.0: String should have at least 1 character, got ''"),
    ],
)
def test_a_slip_in_a_hardware_row_is_refused_with_its_key(change: Row, message: str, tmp_path: Path) -> None:
    row = next(row for row in HARDWARE_ROWS if row["id"] == "h100-sxm-80gb")
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump({"hardware": [row | change]}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"odd.yaml: h100-sxm-80gb: .*{message}"):
        load(path, HardwareRow, "hardware")


def test_an_id_is_used_once(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump({"hardware": HARDWARE_ROWS[:1] * 2}), encoding="utf-8")
    with pytest.raises(ValueError, match="v100-sxm2-32gb: this id is used twice"):
        load(path, HardwareRow, "hardware")


def test_the_arithmetic_layer_imports_none_of_the_heavy_packages() -> None:
    code = (
        "import sys, inference.catalogue, inference.cost; "
        "from inference.arithmetic import metrics, roofline; "
        "from inference.planner.own import hardware, pasted_config, peak_warnings; "
        "print(sorted({'torch', 'transformers', 'pandas', 'numpy', 'streamlit'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
