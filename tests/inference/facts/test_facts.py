"""The facts lessons quote, against published worked numbers, to the digits those are printed with."""

import ast
import math
import re
from pathlib import Path

import pytest

import lessons
import quizzes
from inference import facts
from inference.catalogue import models
from inference.facts.caches import spec_of
from inference.facts.fact import FORMATS, UnknownFact
from inference.facts.hardware import compute_bound_tokens, machine, ridge
from inference.facts.serving import touched_share
from inference.facts.speed import bound_context, prefill_s
from inference.planner.more_gpus import step_s
from quizzes.kinds.filled import facts_in


def near(printed: float, name: str, rel: float = 0.01) -> bool:
    """As close as three printed digits can say."""
    return facts.value(name) == pytest.approx(printed, rel=rel)


def test_every_fact_is_quoted_by_a_lesson_a_question_or_the_glossary_and_every_quoted_one_exists() -> None:
    paths = [
        path
        for folder in (lessons.FOLDER, quizzes.FOLDER)
        for path in folder.iterdir()
        if path.suffix in (".md", ".yaml")
    ]
    course = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    asked = re.findall(r"^[ -]*fact: (\w+)", course, re.MULTILINE)
    assert facts_in(course) | set(asked) == facts.FACTS.keys()


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
        ("vocab_default", "49,152"),
    ],
)
def test_the_default_model_is_described_as_its_card_does(name: str, words: str) -> None:
    assert facts.text(name) == words


def test_one_token_of_the_default_model_caches_two_vectors_per_kv_head_and_layer() -> None:
    assert facts.value("kv_bytes_per_token_default") == 2 * 3 * 64 * 30 * 4 == 46_080
    assert facts.value("kv_query_heads_default") == 2 * 9 * 64 * 30 * 4


def test_a_prefill_reads_the_weights_once_for_all_its_tokens() -> None:
    assert facts.value("weights_read_default") == 4 * (134_515_008 - 61 * 576)  # all but the norms, float32
    assert facts.value("prefill_intensity_default_512") > 100 * facts.value("decode_intensity_default_512")


@pytest.mark.parametrize(("name", "kib"), [("8b", 128), ("smollm2_1700m", 192)])
def test_cache_per_token_of_published_models(name: str, kib: float) -> None:
    assert facts.value(f"kv_bytes_per_token_{name}") == kib * 1024


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("weights_8b", 16.1e9), ("weights_70b", 141e9), ("cache_8b_128k", 17.2e9), ("cache_8b_4k", 0.537e9)),
        *(("cache_gemma3_27b_128k", 11.2e9), ("cache_if_full_gemma3_27b_128k", 66.6e9)),
        *(("outweigh_batch_8b_32k", 4), ("outweigh_batch_8b_64k", 2), ("outweigh_batch_8b_128k", 1)),
        *(("outweigh_batch_70b_128k", 4), ("outweigh_batch_gemma3_27b_128k", 5)),
        *(("ridge_rtx_5090", 117), ("ridge_l40s", 419), ("ridge_a100", 153), ("ridge_h100", 295)),
        *(("ridge_h200", 206), ("crossover_batch_a100", 153), ("crossover_batch_h100", 295)),
    ],
)
def test_a_fact_of_a_model_or_machine_is_the_published_one(name: str, number: float) -> None:
    assert near(number, name)


def test_stored_scores_of_4096_tokens_are_32_mebibytes_a_head() -> None:
    assert facts.text("scores_matrix_4096", "binary") == "32 MiB"
    assert facts.text("scores_all_4096_llama2_7b") == "32 GiB"
    assert facts.text("scores_row_4096") == "8 KiB"
    assert facts.text("cache_llama2_7b_4k", "binary") == "2 GiB"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        *(("compute_bound_gate_8b_h100", 325), ("compute_bound_key_8b_h100", 462)),
        *(("most_intensity_key_default", 144), ("compute_bound_experts_mixtral_h100", 1181)),
        ("bound_context_8b_h100", 393),
        *(("conversations_8b_8k_h100", 59), ("speculation_crossover_batch_4_h100", 59)),
    ],
)
def test_lengths_and_batches_where_the_limit_changes(name: str, tokens: int) -> None:
    assert near(tokens, name, rel=0.006)


def test_a_cards_ridge_moves_the_context_and_the_experts_that_turn_compute_bound() -> None:
    assert compute_bound_tokens((576, 576), ridge("a100")) == pytest.approx(326, abs=1)
    assert compute_bound_tokens((576, 576), ridge("h100")) == math.inf
    assert bound_context(spec_of("8b"), "a100") == pytest.approx(768, abs=1)
    assert bound_context(spec_of("llama2_7b"), "h100") == pytest.approx(86, abs=0.5)
    assert bound_context(spec_of("70b"), "h100") == pytest.approx(1477, abs=1)
    moe = models()["qwen3-30b-a3b"].moe
    assert moe
    assert ridge("h100") * moe.num_experts / moe.experts_per_token == pytest.approx(4724, abs=2)


@pytest.mark.parametrize(
    ("name", "milliseconds"),
    [
        *(("prefill_s_8b_512_h100", 7.3), ("prefill_s_8b_2048_h100", 30), ("prefill_s_8b_32k_h100", 747)),
        *(("prefill_s_8b_128k_h100", 6400), ("step_s_8b_h100", 4.48)),
        *(("decode_s_8b_2048_h100", 4.56), ("decode_s_8b_1k_batch_16_h100", 5.1), ("mixed_step_s_8b_512", 7.5)),
        *(("tp_step_s_8b_8", 1.20), ("tp_step_s_8b_16", 2.20), ("tp_step_s_70b_16", 7.4)),
        *(("transfer_s_8b_nvlink", 0.6), ("transfer_s_8b_400g", 5.4), ("transfer_s_8b_pcie4", 8.4)),
        *(("transfer_s_8b_10gbe", 215), ("transfer_s_70b_10gbe", 537), ("transfer_s_deepseek_v3_400g", 2.9)),
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


@pytest.mark.parametrize(("name", "tokens"), [("50_2", 1.75), ("60_4", 2.31), ("80_4", 3.36), ("90_4", 4.10)])
def test_tokens_per_pass_of_speculation(name: str, tokens: float) -> None:
    assert near(tokens, f"speculation_tokens_{name}", rel=0.003)


@pytest.mark.parametrize(("name", "gain"), [("60_4", 1.92), ("80_7", 3.08), ("80_4", 2.80), ("90_7", 4.22)])
def test_gain_of_speculation(name: str, gain: float) -> None:
    assert near(gain, f"speculation_gain_{name}", rel=0.003)


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
    milliseconds = {ways: 1e3 * step_s(spec_of("8b"), machine("h100"), ways) for ways in (2, 4)}
    assert milliseconds == pytest.approx({2: 2.88, 4: 1.76}, rel=0.012)
    with pytest.raises(ValueError, match="must be from 1 to 4,096, got 0"):
        step_s(spec_of("8b"), machine("h100"), 0)


def test_a_mixture_reads_few_experts_for_one_token_and_nearly_all_for_many() -> None:
    words = [facts.text(f"experts_read_qwen3_30b_batch_{batch}") for batch in (1, 5, 16)]
    assert words == ["6.2 %", "27.6 %", "64.4 %"]
    assert touched_share("qwen3_30b", 64) == pytest.approx(0.984, abs=5e-4)


def test_decode_follows_bandwidth_and_prefill_follows_arithmetic() -> None:
    assert facts.text("decode_ratio_h200_h100") == "1.43"
    assert prefill_s("8b", 8192, "h200") == pytest.approx(prefill_s("8b", 8192, "h100"), rel=1e-3)


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
