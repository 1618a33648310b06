"""Machines and models described by numbers, and peaks that are not dense ones."""

import dataclasses
import math
from typing import Any

import pytest

from inference.arithmetic.ranges import shown
from inference.catalogue import hardware, models
from inference.cost import forward_work, kv_bytes_per_token
from inference.planner.own.hardware import own_hardware, own_model
from inference.planner.own.peak_warnings import peak_warnings

H100: dict[str, Any] = {
    **{"memory_gb": 80, "bandwidth_gb_s": 3350, "tflops_16bit": 989.4, "tflops_fp8": 1978.9},
    **{"tflops_fp32": 66.9, "link_gb_s": 450, "tdp_w": 700},
}
LLAMA_8B: dict[str, Any] = {
    **{"num_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_query_heads": 32},
    **{"num_kv_heads": 8, "head_dim": 128, "vocab_size": 128256, "max_context": 131072},
}
MIXTRAL = LLAMA_8B | {
    **{"vocab_size": 32000, "max_context": 32768},
    **{"num_experts": 8, "experts_per_token": 2, "expert_intermediate_size": 14336},
}
BAD: list[Any] = [None, 0, -1, math.nan, math.inf, -math.inf, 1e30, 10**5000, True, "80", "", [], {}]


def test_the_datasheet_of_an_h100_gives_its_row() -> None:
    own, row = own_hardware("Mine", **H100), hardware()["h100-sxm-80gb"]
    assert own.memory_bytes == row.memory_bytes
    assert own.bandwidth == row.bandwidth
    assert own.peak_flops == {dtype: peak for dtype, peak in row.peak_flops.items() if dtype != "int8"}
    assert own.interconnect_bandwidth == row.interconnect_bandwidth
    assert own.tdp_w == row.tdp_w
    assert row.is_verified
    assert not own.is_verified
    assert not own.is_measured


def test_what_is_left_out_is_not_guessed() -> None:
    own = own_hardware("Mine", memory_gb=24, bandwidth_gb_s=600, tflops_16bit=70)
    assert set(own.peak_flops) == {"float16", "bfloat16"}
    assert own.interconnect_bandwidth is None
    assert own.tdp_w is None


@pytest.mark.parametrize("field", ["memory_gb", "bandwidth_gb_s", "tflops_16bit"])
def test_a_number_that_no_machine_has_is_refused_by_name(field: str, subtests: pytest.Subtests) -> None:
    for value in BAD:
        with subtests.test(value=shown(value)):
            with pytest.raises(ValueError, match=f"^{field} must be") as refusal:
                own_hardware("Mine", **H100 | {field: value})
            assert len(str(refusal.value)) < 150


@pytest.mark.parametrize("field", ["tflops_fp8", "tflops_fp32", "link_gb_s", "tdp_w"])
def test_an_optional_number_is_checked_when_given(field: str, subtests: pytest.Subtests) -> None:
    for value in (0, -1, math.nan, 1e30, True, "80"):
        with subtests.test(value=value), pytest.raises(ValueError, match=f"^{field} must be"):
            own_hardware("Mine", **H100 | {field: value})


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"bandwidth_gb_s": 3.35}, "1 TB/s is 1,000 GB/s"),
        ({"bandwidth_gb_s": 3_350_000}, "from 10 to 100,000 GB/s, got 3,350,000"),
        ({"memory_gb": 0.08}, "1 TB is 1,000 GB"),
        ({"tflops_16bit": 989_400}, "1 PFLOP/s is 1,000 TFLOP/s"),
        ({"memory_gb": "80"}, "write it without quotes"),
    ],
)
def test_a_slip_of_a_unit_is_refused_with_the_unit(change: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        own_hardware("Mine", **H100 | change)


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, None, 5])
def test_a_name_is_some_text(name: Any) -> None:
    with pytest.raises(ValueError, match="name must be text"):
        own_hardware(name, **H100)
    with pytest.raises(ValueError, match="name must be text"):
        own_model(name, **LLAMA_8B)


def test_the_numbers_of_llama_give_its_row() -> None:
    own, row = own_model("模型", **LLAMA_8B), models()["llama-3.1-8b"]
    assert dataclasses.replace(row, id=own.id, name=own.name, source=own.source) == own
    assert own.total_params == 8_030_261_248  # Hugging Face's count of the checkpoint
    assert kv_bytes_per_token(own) == 131_072


def test_the_numbers_of_mixtral_give_its_row() -> None:
    own, row = own_model("Mine", **MIXTRAL), models()["mixtral-8x7b"]
    assert own.total_params == row.total_params == 46_702_792_704
    assert own.moe == row.moe
    assert forward_work(own, num_query_tokens=1, context_len=9) == forward_work(
        row, num_query_tokens=1, context_len=9
    )


@pytest.mark.parametrize("field", LLAMA_8B)
def test_a_shape_that_no_model_has_is_refused_by_name(field: str, subtests: pytest.Subtests) -> None:
    for value in [*BAD, 4.0, 10**9 + 1]:
        with subtests.test(value=shown(value)):
            with pytest.raises(ValueError, match=f"^{field} must be") as refusal:
                own_model("Mine", **LLAMA_8B | {field: value})
            assert len(str(refusal.value)) < 150


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_kv_heads": 5}, "num_query_heads must be a multiple of num_kv_heads"),
        ({"experts_per_token": 9}, "experts_per_token must be at most num_experts, got 9 and 8"),
        ({"experts_per_token": None}, "experts_per_token must be a whole number from 1 to 10,000, got None"),
        ({"num_experts": 10**9}, "num_experts must be from 1 to 10,000"),
        ({"num_shared_experts": -1}, "num_shared_experts must be from 0"),
        ({"num_dense_layers": 33}, "33 dense layers in a model of 32"),
        ({"is_tied": "no"}, "is_tied must be true or false, got 'no'"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        own_model("Mine", **MIXTRAL | change)


def test_no_dense_peak_of_the_catalogue_warns() -> None:
    assert {id: peak_warnings(machine) for id, machine in hardware().items() if peak_warnings(machine)} == {}


# What the datasheets print with 2:4 sparsity, or GeForce cards reach with 16-bit accumulation.
@pytest.mark.parametrize(
    ("memory_gb", "bandwidth_gb_s", "tflops_16bit", "dense"),
    [
        pytest.param(80, 3350, 1979, "989.4", id="H100 SXM"),
        pytest.param(80, 2000, 1513, "756.5", id="H100 PCIe"),
        pytest.param(141, 4800, 1979, "989", id="H200"),
        pytest.param(80, 2039, 624, "312", id="A100 80 GB"),
        pytest.param(40, 1555, 624, "312", id="A100 40 GB"),
        pytest.param(48, 864, 733, "362.1", id="L40S"),
        pytest.param(24, 300, 242, "121", id="L4"),
        pytest.param(24, 600, 250, "125", id="A10"),
        pytest.param(24, 600, 140, "70", id="A10G"),
        pytest.param(24, 1008, 330.3, "165.2", id="RTX 4090"),
        pytest.param(24, 1008, 660.6, "165.2", id="RTX 4090, both"),
        pytest.param(24, 936, 285, "71", id="RTX 3090, both"),
        pytest.param(32, 1792, 419, "209.5", id="RTX 5090"),
        pytest.param(192, 8000, 4500, "2,250", id="B200 as launched"),
        pytest.param(192, 5300, 2614.9, "1,307", id="MI300X"),
    ],
)
def test_a_sparse_16_bit_peak_is_named_with_the_dense_one(
    memory_gb: float, bandwidth_gb_s: float, tflops_16bit: float, dense: str
) -> None:
    warnings = peak_warnings(own_hardware("Mine", memory_gb, bandwidth_gb_s, tflops_16bit))
    assert f"Its dense peak is {dense} TFLOP/s." in warnings[0]
    assert not peak_warnings(own_hardware("Mine", memory_gb, bandwidth_gb_s, float(dense.replace(",", ""))))


def test_a_sparse_peak_is_named_where_the_memory_is_not_known() -> None:
    unknown = dataclasses.replace(own_hardware("Mine", 80, 3350, 1979), memory_bytes=None)
    (warning,) = peak_warnings(unknown)
    assert "NVIDIA H100 SXM5 80GB, which has the same bandwidth: it probably counts" in warning
    for row in hardware().values():
        assert peak_warnings(dataclasses.replace(row, memory_bytes=None)) == ()


def test_a_sparse_8_bit_peak_beside_a_dense_16_bit_peak_is_named() -> None:
    (warning,) = peak_warnings(own_hardware("H100", **H100 | {"tflops_fp8": 3958}))
    assert warning.startswith("The FP8 peak is four times the 16-bit peak")
    a100 = hardware()["a100-sxm4-80gb"]
    (warning,) = peak_warnings(dataclasses.replace(a100, peak_flops={**a100.peak_flops, "int8": 1248e12}))
    assert warning.startswith("The int8 peak is four times the 16-bit peak")


def test_a_ridge_that_no_machine_has_is_named() -> None:
    (warning,) = peak_warnings(own_hardware("PFLOP/s for TFLOP/s", 80, 3350, 0.989))
    assert warning.startswith("The ridge point is 0.295 FLOP/byte")
    (warning,) = peak_warnings(own_hardware("Unknown card, sparse", 16, 300, 242))
    assert warning.startswith("The ridge point is 807 FLOP/byte")
    assert not peak_warnings(own_hardware("Laptop", 16, 60, 0.6))
