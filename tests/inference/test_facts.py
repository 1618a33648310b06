"""The facts lessons quote, against published worked numbers, to the digits those are printed with."""

import ast
import math
from pathlib import Path

import pytest

from inference import facts
from inference.catalogue import models
from inference.fact import FORMATS, UnknownFact
from inference.facts_cache import spec_of
from inference.facts_hardware import machine, ridge
from inference.facts_speed import bound_context
from inference.more_gpus import step_s


def near(printed: float, name: str, rel: float = 0.01) -> bool:
    """As close as three printed digits can say."""
    return facts.value(name) == pytest.approx(printed, rel=rel)


def test_every_fact_is_a_finite_number_that_its_format_can_write() -> None:
    for name, fact in facts.FACTS.items():
        assert math.isfinite(facts.value(name)), name
        assert facts.value(name) > 0, name
        assert fact.name == name
        assert fact.format in FORMATS, name
        assert fact.source, name
        assert facts.text(name) != "0", name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("layers_default", "30"),
        ("query_heads_default", "9"),
        ("kv_heads_default", "3"),
        ("head_dim_default", "64"),
        ("params_default", "134,515,008"),
        ("weights_default", "538 MB"),
        ("kv_query_heads_factor_default", "3.00"),
    ],
)
def test_the_default_model_is_described_as_its_card_does(name: str, words: str) -> None:
    assert facts.text(name) == words


def test_one_token_of_the_default_model_caches_two_vectors_per_kv_head_and_layer() -> None:
    assert facts.value("kv_bytes_per_token_default") == 2 * 3 * 64 * 30 * 4 == 46_080
    assert facts.value("kv_query_heads_default") == 2 * 9 * 64 * 30 * 4


def test_a_prefill_reads_the_weights_once_for_all_its_tokens() -> None:
    assert facts.value("weights_per_token_default_512") * 512 == facts.value("weights_read_default")
    assert facts.value("prefill_intensity_default_512") > 100 * facts.value("decode_intensity_default_512")


@pytest.mark.parametrize(
    ("name", "kib"),
    [("8b", 128), ("70b", 320), ("smollm2_1700m", 192), ("llama2_7b", 512), ("deepseek_v3", 68.625)],
)
def test_cache_per_token_of_published_models(name: str, kib: float) -> None:
    assert facts.value(f"kv_bytes_per_token_{name}") == kib * 1024


@pytest.mark.parametrize(
    ("model", "weights_gb", "batches"),
    [
        ("llama2_7b", 13.5, {"4k": 7}),
        ("1b", 2.5, {"4k": 19, "8k": 10, "32k": 3, "64k": 2, "128k": 1}),
        ("8b", 16.1, {"4k": 30, "8k": 15, "32k": 4, "64k": 2, "128k": 1}),
        ("70b", 141, {"4k": 106, "8k": 53, "32k": 14, "64k": 7, "128k": 4}),
        ("405b", 812, {"4k": 384, "8k": 192, "32k": 48, "64k": 24, "128k": 12}),
        ("qwen3_8b", 16.4, {"4k": 28, "8k": 14, "32k": 4}),
        ("mixtral", 93, {"4k": 174, "8k": 87, "32k": 22}),
        ("gemma3_27b", 54, {"4k": 70, "8k": 49, "32k": 18, "64k": 10, "128k": 5}),
        ("deepseek_v3", 1342, {"4k": 4663, "8k": 2332, "32k": 583, "64k": 292, "128k": 146}),
        ("gpt_oss_20b", 41.8, {"4k": 403, "8k": 205, "32k": 52, "64k": 26, "128k": 13}),
    ],
)
def test_conversations_whose_caches_outweigh_the_weights(
    model: str, weights_gb: float, batches: dict[str, int]
) -> None:
    assert near(weights_gb * 1e9, f"weights_{model}", rel=0.02)
    assert {label: facts.value(f"outweigh_batch_{model}_{label}") for label in batches} == batches


@pytest.mark.parametrize(("model", "tokens"), [("llama2_7b", 25_705), ("8b", 122_532), ("70b", 430_626)])
def test_tokens_whose_cache_equals_the_weights(model: str, tokens: int) -> None:
    assert near(tokens, f"matching_context_{model}", rel=1e-4)


@pytest.mark.parametrize(
    ("name", "gb"),
    [
        *(("cache_8b_128k", 17.2), ("cache_70b_128k", 42.9), ("cache_405b_128k", 67.7)),
        *(("cache_gemma3_27b_128k", 11.2), ("cache_if_full_gemma3_27b_128k", 66.6)),
        *(
            ("cache_deepseek_v3_128k", 9.2),
            ("cache_gpt_oss_20b_128k", 3.2),
            ("cache_if_full_gpt_oss_20b_128k", 6.4),
        ),
        *(("cache_mistral_7b_32k", 0.54), ("cache_if_full_mistral_7b_32k", 4.3)),
    ],
)
def test_what_a_decode_step_reads_of_a_long_cache(name: str, gb: float) -> None:
    assert near(gb * 1e9, name, rel=0.02)


def test_stored_scores_of_4096_tokens_are_32_mebibytes_a_head() -> None:
    assert facts.text("scores_matrix_4096", "binary") == "32 MiB"
    assert facts.text("scores_all_4096_llama2_7b") == "32 GiB" == facts.text("scores_matrix_128k")
    assert facts.text("scores_row_4096") == "8 KiB"
    assert facts.text("cache_llama2_7b_4k", "binary") == "2 GiB"


@pytest.mark.parametrize(
    ("machine", "ridge"),
    [
        *(("rtx_3090", 76), ("a10g", 117), ("v100", 139), ("a100", 153), ("rtx_4090", 164), ("t4", 203)),
        *(("h200", 206), ("a10", 208), ("tpu_v5e", 241), ("mi300x", 247), ("b200", 292), ("h100", 295)),
        *(("h100_pcie", 378), ("l4", 403), ("l40s", 419)),
    ],
)
def test_ridge_points_and_so_crossover_batches_at_16_bits(machine: str, ridge: int) -> None:
    assert near(ridge, f"ridge_{machine}")
    assert near(ridge, f"crossover_batch_{machine}")


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        *(("compute_bound_gate_8b_h100", 325), ("compute_bound_key_8b_h100", 462)),
        *(("compute_bound_query_default_a100", 326), ("most_intensity_key_default", 144)),
        *(("compute_bound_experts_mixtral_h100", 1181), ("compute_bound_experts_deepseek_v3_h100", 9447)),
        *(("bound_context_8b_h100", 393), ("bound_context_llama2_7b_h100", 86), ("bound_context_70b_h100", 1477)),
        *(("conversations_8b_8k_h100", 59), ("speculation_crossover_batch_4_h100", 59)),
    ],
)
def test_lengths_and_batches_where_the_limit_changes(name: str, tokens: int) -> None:
    assert near(tokens, name, rel=0.006)


def test_a_cards_ridge_moves_the_context_and_the_experts_that_turn_compute_bound() -> None:
    assert bound_context(spec_of("8b"), "a100") == pytest.approx(768, abs=1)
    moe = models()["qwen3-30b-a3b"].moe
    assert moe
    assert ridge("h100") * moe.num_experts / moe.experts_per_token == pytest.approx(4724, abs=2)


@pytest.mark.parametrize(
    ("name", "milliseconds"),
    [
        *(("prefill_s_8b_512_h100", 7.3), ("prefill_s_8b_2048_h100", 30), ("prefill_s_8b_32k_h100", 747)),
        *(("prefill_s_8b_128k_h100", 6400), ("step_s_8b_h100", 4.48), ("step_s_70b_h100", 41.5)),
        *(("decode_s_8b_2048_h100", 4.56), ("decode_s_8b_1k_batch_16_h100", 5.1), ("mixed_step_s_8b_512", 7.5)),
        *(("step_without_cache_8b_1000", 14.4), ("step_without_cache_8b_4000", 61)),
        *(("step_without_cache_8b_16000", 294), ("step_with_cache_8b_16000", 5.1)),
        *(("tp_step_s_8b_2", 2.88), ("tp_step_s_8b_4", 1.76), ("tp_step_s_8b_8", 1.20), ("tp_step_s_8b_16", 2.20)),
        *(("tp_step_s_70b_2", 22.3), ("tp_step_s_70b_8", 6.8), ("tp_step_s_70b_16", 7.4)),
        *(("transfer_s_8b_nvlink", 0.6), ("transfer_s_8b_400g", 5.4), ("transfer_s_8b_pcie4", 8.4)),
        *(("transfer_s_8b_10gbe", 215), ("transfer_s_70b_10gbe", 537), ("transfer_s_deepseek_v3_10gbe", 115)),
    ],
)
def test_times_at_the_roofline(name: str, milliseconds: float) -> None:
    assert near(milliseconds / 1e3, name, rel=0.012)


def test_short_contexts_gain_nothing_from_the_cache_and_long_ones_much() -> None:
    assert facts.value("without_cache_factor_8b_100") < 1.05  # both wait for the weights; activations are the rest
    assert near(3.2, "without_cache_factor_8b_1000")
    assert near(57, "without_cache_factor_8b_16000", rel=0.02)
    assert facts.value("forwards_without_1000_500") == 624_750
    assert facts.value("forwards_with_1000_500") == 1_499
    assert facts.text("forwards_factor_1000_500") == "417"
    assert facts.text("forwards_factor_8000_1000") == "944"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        *(("60_2", 1.96), ("60_4", 2.31), ("60_7", 2.46), ("80_2", 2.44), ("80_4", 3.36), ("80_7", 4.16)),
        *(("90_2", 2.71), ("90_4", 4.10), ("90_7", 5.70)),
    ],
)
def test_tokens_per_pass_of_speculation(name: str, tokens: float) -> None:
    assert near(tokens, f"speculation_tokens_{name}", rel=0.003)


@pytest.mark.parametrize(("name", "gain"), [("60_4", 1.92), ("80_7", 3.08), ("80_4", 2.80), ("90_7", 4.22)])
def test_gain_of_speculation(name: str, gain: float) -> None:
    assert near(gain, f"speculation_gain_{name}", rel=0.003)


def test_speculation_yields_from_one_to_drafts_and_one_more() -> None:
    assert facts.value("speculation_least_4") == 1
    assert facts.value("speculation_most_4") == 5


def test_a_static_batch_uses_1800_of_3200_slots() -> None:
    assert (facts.value("static_useful"), facts.value("static_offered")) == (1800, 3200)
    assert near(0.56, "static_share")
    assert facts.text("stall_tokens_8b_2048") == "6"


def test_a_cached_prefix_saves_a_little_less_work_than_tokens() -> None:
    assert near(3.05e13, "prefix_cold_flops_8b")
    assert near(1.50e12, "prefix_warm_flops_8b")
    assert facts.text("prefix_saved_share_8b") == "95.1 %"
    assert facts.text("prefix_kept_bytes_8b") == "262 MB"
    assert facts.value("prefix_saved_share_8b") < facts.value("prefix_token_share_8b")
    assert facts.value("prefix_blocks_8b") == 125


def test_moving_a_cache_takes_its_bytes_over_the_link() -> None:
    assert facts.text("transfer_bytes_8b") == "268 MB"
    assert facts.text("transfer_bytes_70b") == "671 MB"
    assert facts.text("transfer_bytes_deepseek_v3") == "144 MB"
    assert near(4.6e9, "needed_link_8b_half_h100", rel=0.05)  # printed without the attention's arithmetic


def test_splitting_a_layer_gains_less_than_it_is_split_and_loses_across_nodes() -> None:
    assert near(3.7, "tp_gain_8b_8")
    assert near(6.1, "tp_gain_70b_8")
    assert facts.value("tp_step_s_8b_16") > facts.value("tp_step_s_8b_8")
    assert facts.text("tp_message_8b") == "8 KiB"
    with pytest.raises(ValueError, match="whole number from 1"):
        step_s(spec_of("8b"), machine("h100"), 0)


def test_a_mixture_reads_few_experts_for_one_token_and_nearly_all_for_many() -> None:
    words = [facts.text(f"experts_read_qwen3_30b_batch_{batch}") for batch in (1, 16, 64)]
    assert words == ["6.2 %", "64.4 %", "98.4 %"]


def test_decode_follows_bandwidth_and_prefill_follows_arithmetic() -> None:
    assert facts.text("decode_ratio_h200_h100") == "1.43"
    assert near(1, "prefill_ratio_h200_h100", rel=1e-3)


def test_an_unknown_fact_or_format_is_named_with_what_there_is() -> None:
    with pytest.raises(UnknownFact, match=r"no fact 'layers_defalt'.*layers_default"):
        facts.text("layers_defalt")
    with pytest.raises(UnknownFact, match=r"'layers_default'.*no format 'miles'"):
        facts.text("layers_default", "miles")


def test_facts_import_no_model_library() -> None:
    for path in Path(facts.__file__).parent.glob("fact*.py"):
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        }
        assert not imported & {"torch", "transformers", "pandas"}
