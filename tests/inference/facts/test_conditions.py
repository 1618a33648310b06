"""Where a rule of the lessons ends: each number beside the same one worked by hand from published shapes."""

import pytest

from inference import facts
from inference.facts.speed import decode_s

LAYER_8B = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336
KV_8B = 2 * 32 * 8 * 128 * 2
H100_FLOPS, H100_BANDWIDTH = 989.4e12, 3.35e12


def test_a_usual_4_bit_checkpoint_keeps_scales_and_two_tables_in_16_bits() -> None:
    assert facts.value("awq_layers_8b") == 32 * LAYER_8B / 2
    assert (
        facts.value("awq_scales_8b") == 32 * LAYER_8B / 128 * 2.5
    )  # a scale of 2 bytes, a zero point of half a byte
    assert facts.value("awq_tables_8b") == 2 * 128_256 * 4096 * 2
    assert facts.text("awq_layers_8b") == "3.49 GB"
    assert facts.value("awq_scales_8b") == pytest.approx(0.14e9, abs=0.005e9)
    assert facts.text("awq_tables_8b") == "2.10 GB"
    assert facts.text("weights_awq_8b") == "5.73 GB"  # of 16.1; 4 bits for everything would be 4.02


def test_two_conversations_of_32k_outweigh_the_8b_in_4_bits_or_one_of_43_700_tokens() -> None:
    assert 1 < 5.727e9 / (KV_8B * 32_768) < facts.value("outweigh_batch_awq_8b_32k") == 2
    assert facts.value("matching_context_awq_8b") == pytest.approx(43_700, abs=50)


def test_a_common_prefix_read_once_takes_a_tenth_of_the_cache_read() -> None:
    assert facts.value("cache_read_apart_8b_64") == 64 * 2200 * KV_8B
    assert facts.value("cache_read_shared_8b_64") == (2000 + 64 * 200) * KV_8B
    assert (facts.text("cache_read_apart_8b_64"), facts.text("cache_read_shared_8b_64")) == ("18.5 GB", "1.94 GB")


def test_a_small_matrix_is_capped_by_its_rows_and_fusing_lifts_the_cap() -> None:
    assert facts.value("most_intensity_key_default") == pytest.approx(576 * 192 / (576 + 192)) == pytest.approx(144)
    assert facts.value("most_intensity_qkv_default") == pytest.approx(576 * 960 / (576 + 960)) == pytest.approx(360)
    ridge = H100_FLOPS / H100_BANDWIDTH
    assert facts.value("compute_bound_qkv_default_h100") == pytest.approx(ridge / (1 - ridge / 360))
    assert facts.value("compute_bound_qkv_default_h100") == pytest.approx(1640, rel=0.005)


def test_no_h100_that_computes_at_all_near_its_peak_makes_the_small_matrix_compute_bound() -> None:
    """At the 650 TFLOP/s that a good kernel reaches of 989 the ridge is 194: still above it, with room to spare."""
    assert facts.value("most_intensity_key_default") < 0.75 * 650e12 / H100_BANDWIDTH
    assert facts.value("most_intensity_key_default") < 0.5 * facts.value("ridge_h100")


def test_an_8_bit_cache_doubles_the_context_up_to_which_a_batch_can_be_compute_bound() -> None:
    per_weights = 2 * (32 * LAYER_8B + 128_256 * 4096) / H100_FLOPS
    per_token = KV_8B / 2 / H100_BANDWIDTH - 4 * 32 * 32 * 128 / H100_FLOPS
    assert facts.value("bound_context_8b_h100_kv8") == pytest.approx(per_weights / per_token)
    assert facts.text("bound_context_8b_h100_kv8") == "797"


@pytest.mark.parametrize(("model", "layers", "microseconds"), [("8b", 32, 14.4), ("70b", 80, 26.2)])
def test_sixteen_lose_to_eight_only_above_an_exchange_of_so_long(
    model: str, layers: int, microseconds: float
) -> None:
    read_s = decode_s(model, 1, "h100")
    slower = facts.value(f"tp_break_even_s_{model}_16")
    assert read_s / 16 + 2 * layers * slower == pytest.approx(read_s / 8 + 2 * layers * 10e-6, rel=1e-3)
    assert slower == pytest.approx(microseconds * 1e-6, rel=0.004)
    assert facts.value("exchange_inside_s") < slower < facts.value("exchange_across_s")


def test_five_tokens_of_a_mixture_read_more_experts_than_one() -> None:
    """Qwen3-30B-A3B: 48 layers of 2,048; 128 experts of 768, 8 a token; 32 query and 4 KV heads of 128."""
    share = 1 - (1 - 8 / 128) ** 5
    assert facts.value("experts_read_qwen3_30b_batch_5") == pytest.approx(share) == pytest.approx(0.276, abs=5e-4)
    fixed = 2 * 2048 * 4096 + 2 * 2048 * 512 + 2048 * 128
    one, five = (48 * (fixed + num_experts * 3 * 2048 * 768) + 151_936 * 2048 for num_experts in (8, 128 * share))
    assert facts.value("speculation_check_qwen3_30b_4") == pytest.approx(five / one)
    assert facts.value("speculation_check_qwen3_30b_4") == pytest.approx(3.0, abs=0.05)


def test_speculation_gains_a_mixture_next_to_nothing_where_a_dense_model_gains_2_8() -> None:
    gain = (1 - 0.8**5) / 0.2 / (4 * 0.05 + facts.value("speculation_check_qwen3_30b_4"))
    assert facts.value("speculation_gain_qwen3_30b_80_4") == pytest.approx(gain) == pytest.approx(1.05, abs=0.02)
    assert facts.text("speculation_gain_80_4") == "2.80"


def test_four_in_five_accepted_keeps_three_in_five_of_a_draft() -> None:
    kept = (0.8 + 0.8**2 + 0.8**3 + 0.8**4) / 4
    assert facts.value("speculation_kept_80_4") == pytest.approx(kept) == pytest.approx(0.59, abs=5e-4)


def test_llama_8b_has_4_7_times_the_parameters_of_smollm2_1_7b() -> None:
    assert facts.value("params_8b_over_smollm2_1700m") == pytest.approx(8.03 / 1.71, rel=0.003)
