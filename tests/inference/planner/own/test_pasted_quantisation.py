"""What pasted files say of quantised weights: read where the kind is known, and never passed over."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from inference.catalogue import models
from inference.planner.own.pasted_config import spec_from_json
from inference.planner.own.pasted_quantisation import Quantisation, quantisation

CONFIGS = Path(__file__).parent / "configs"
LLAMA: dict[str, Any] = json.loads((CONFIGS / "smollm2-135m.json").read_text(encoding="utf-8"))


def stated(config: object) -> Quantisation | None:
    return quantisation(json.dumps(config))


def test_the_mean_width_of_gpt_oss_gives_the_bytes_of_its_checkpoint() -> None:
    found = quantisation((CONFIGS / "gpt-oss-20b.json").read_text(encoding="utf-8"))
    assert found
    assert found.bits
    checkpoint = dataclasses.replace(models()["gpt-oss-20b"], weight_bits=found.bits).weight_bytes
    assert checkpoint == pytest.approx(13.76e9, abs=0.005e9)  # the size of its files


@pytest.mark.parametrize(
    ("config", "bits"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8),
        ({"quant_method": "fbgemm_fp8"}, 8),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4),
        ({"quant_method": "gptq", "bits": 3}, 3),
        ({"quant_method": "awq", "bits": 4, "version": "gemm"}, 4),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4),
        ({"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": True}, 8),
        ({"quant_method": "bitsandbytes"}, None),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}}, 4),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 4}}, "b": {"weights": {"num_bits": 8}}},
            },
            None,
        ),
        ({"quant_method": "not heard of"}, None),
        ({"quant_method": ["fp8"]}, None),
        ({}, None),
        ({"quant_method": "mxfp4"}, 4.25),
        ({"group_size": 64, "bits": 4}, 4),
        ({"group_size": 64, "bits": 4, "mode": "affine"}, 4),
        ({"group_size": 32, "bits": 4, "mode": "mxfp4"}, 4.25),
        ({"group_size": 16, "bits": 4, "mode": "nvfp4"}, 4.5),
        ({"group_size": 64, "bits": 4, "lm_head": {"group_size": 64, "bits": 8}, "embed": False}, None),
        ({"group_size": 64, "bits": 4, "lm_head": {"group_size": 64, "bits": 4}}, 4),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8}}, 4.5),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 8),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, 4),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, None),
        ({"quant_method": "modelopt"}, None),
        ({"quant_method": "intel/auto-round", "bits": 4, "group_size": 128}, 4),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4}}}, None),
        ({"quant_method": "quanto", "weights": "int8"}, None),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig"}}}, None),
        ({"quant_method": "vptq", "bits": 400}, None),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "nvfp4-pack-quantized",
                "config_groups": {"a": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
            },
            4.5,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            8,
        ),
    ],
    ids=str,
)
def test_a_stated_quantisation_is_read_or_named(config: dict[str, Any], bits: float | None) -> None:
    found = stated(LLAMA | {"quantization_config": config})
    assert found is not None
    assert found.bits == bits
    assert found.kind
    assert (
        spec_from_json(json.dumps(LLAMA | {"quantization_config": config})).weight_bits == 16
    )  # a suggestion only


def test_a_file_without_one_states_nothing() -> None:
    assert stated(LLAMA) is None
    assert stated(LLAMA | {"quantization_config": None}) is None


@pytest.mark.parametrize("name", ["quantization_config", "quantization", "compression_config"])
def test_it_is_found_under_every_name_and_in_the_text_decoders_part(name: str) -> None:
    part = {name: {"group_size": 64, "bits": 4}}
    expected = Quantisation("mlx", 4)
    assert stated(LLAMA | part) == expected
    assert stated({"model_type": "wrapper", "text_config": LLAMA, **part}) == expected
    assert stated({"model_type": "wrapper", "text_config": LLAMA | part}) == expected


def test_a_kind_is_called_as_its_file_calls_it_and_shortened() -> None:
    found = stated(LLAMA | {"quantization_config": {"quant_method": "<b>" + "x" * 100}})
    assert found == Quantisation("<b>" + "x" * 37, None)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("fp8", "quantization_config must be a JSON object"),
        ({"quant_method": "gptq", "bits": "4"}, "quantization_config.bits must be a whole number"),
        ({"quant_method": "awq", "bits": 0}, "quantization_config.bits must be from 1 to 16 bits, got 0"),
        ({"quant_method": "compressed-tensors"}, "config_groups must be a JSON object"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": [4]}}},
            "weights must be a JSON",
        ),
        ({"quant_method": "awq"}, "quantization_config.bits must be a whole number"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": "yes"}, "load_in_4bit must be true or false"),
    ],
)
def test_a_width_that_cannot_be_is_refused(config: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stated(LLAMA | {"quantization_config": config})
