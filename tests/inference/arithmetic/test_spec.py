"""The shape of a model, read from transformers configs and checked against the models they build."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.vector_params import UNCOUNTED, counted
from inference.catalogue import models
from inference.cost import kv_bytes_per_token

SIZES: dict[str, Any] = {
    **{"vocab_size": 96, "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0},
}
HEAD_DIM = {"head_dim": 16}  # not hidden / heads, as in Qwen3 and Gemma
EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2}
NO_GQA = {"num_key_value_heads": 4}
MLA = {
    **{"kv_lora_rank": 20, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, "num_experts_per_tok": 2},
    **{"n_routed_experts": 8, "n_shared_experts": 2, "moe_intermediate_size": 24, "n_group": 2, "topk_group": 1},
}
GPT2 = {"vocab_size": 96, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": SIZES,
    "mistral": SIZES | {"head_dim": None},
    "qwen2": SIZES,
    "qwen3": SIZES | HEAD_DIM,
    "gemma": SIZES | HEAD_DIM,
    "gemma2": SIZES | HEAD_DIM,
    "gemma3_text": SIZES | HEAD_DIM,
    "phi": SIZES,
    "phi3": SIZES,
    "olmo2": SIZES,
    "granite": SIZES,
    "smollm3": SIZES,
    "gpt2": GPT2,
    "gpt_neox": SIZES | NO_GQA,
    "mixtral": SIZES | EXPERTS,
    "qwen3_moe": SIZES | HEAD_DIM | EXPERTS | {"moe_intermediate_size": 24},
    "gpt_oss": SIZES | HEAD_DIM | EXPERTS,
    "deepseek_v2": SIZES | NO_GQA | MLA | {"q_lora_rank": None, "first_k_dense_replace": 1},
    "deepseek_v3": SIZES | NO_GQA | MLA | {"q_lora_rank": 12, "first_k_dense_replace": 2},
}
# What a config may switch on, for the model types that have it.
BIASED: dict[str, dict[str, bool]] = {
    **{kind: {"attention_bias": True, "mlp_bias": True} for kind in ("llama", "granite", "smollm3")},
    **{kind: {"attention_bias": True} for kind in ("qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text")},
    **{kind: {"attention_bias": True} for kind in ("olmo2", "deepseek_v2", "deepseek_v3")},
    **{kind: {"attention_bias": False} for kind in ("gpt_neox", "gpt_oss")},
    "phi": {"qk_layernorm": True},
}


def parameters(model_type: str, switched: dict[str, bool]) -> tuple[Any, dict[str, torch.Tensor]]:
    """The config and every parameter by name, tied weights once; DeepSeek-V3's load balance is a buffer."""
    config = CONFIG_MAPPING[model_type](**CONFIGS[model_type] | switched)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    balance = {name: buffer for name, buffer in model.named_buffers() if "correction_bias" in name}
    return config, dict(model.named_parameters()) | balance


@pytest.mark.parametrize(("model_type", "switched"), [*((kind, {}) for kind in CONFIGS), *BIASED.items()], ids=str)
def test_the_parameters_of_the_spec_are_those_of_the_model(model_type: str, switched: dict[str, bool]) -> None:
    config, named = parameters(model_type, switched)
    spec = ModelSpec.from_config(config, name="tiny", total_params=UNCOUNTED)
    matrices = [p.numel() for n, p in named.items() if p.ndim > 1 and "bias" not in n and "wpe" not in n]
    assert spec.matrix_params == sum(matrices)
    assert counted(spec, model_type, switched).total_params == sum(p.numel() for p in named.values())


@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3"])
def test_the_latent_attention_of_a_model_keeps_what_the_formula_says(model_type: str) -> None:
    config = CONFIG_MAPPING[model_type](**CONFIGS[model_type])
    model = AutoModelForCausalLM.from_config(config).eval()
    spec = ModelSpec.from_config(config, name="tiny", total_params=UNCOUNTED, kv_bits=32)
    cache = DynamicCache(config=config)
    with torch.no_grad():
        model(torch.zeros((1, 10), dtype=torch.long), cache=cache)
    kept = sum(kept.nbytes for layer in cache.layers for kept in (layer.keys, layer.values))
    assert kept == 10 * kv_bytes_per_token(spec)


def test_smollm2_has_one_embedding_table_that_is_also_its_lm_head() -> None:
    spec = models()["smollm2-135m"]
    assert spec.layer_matmul_params == (3_538_944,) * 30
    assert spec.lm_head_params == 49_152 * 576
    assert spec.matmul_params == spec.matrix_params == 30 * 3_538_944 + 49_152 * 576
    assert spec.weight_bytes == 2 * 134_515_008


def test_an_untied_embedding_is_in_memory_but_not_multiplied() -> None:
    spec = models()["llama-3.1-8b"]
    assert spec.matrix_params - spec.matmul_params == spec.lm_head_params


def test_a_token_of_a_mixture_is_multiplied_with_its_own_experts_only() -> None:
    spec = models()["mixtral-8x7b"]
    expert = 3 * 4096 * 14336
    assert spec.matrix_params - spec.lm_head_params - spec.matmul_params == 32 * 6 * expert


def test_weights_of_four_bits_take_a_quarter_of_the_bytes() -> None:
    spec = models()["llama-3.1-8b"]
    assert dataclasses.replace(spec, weight_bits=4).weight_bytes == spec.weight_bytes / 4


def test_layer_types_say_which_layers_slide() -> None:
    config = CONFIG_MAPPING["gemma2"](**CONFIGS["gemma2"], sliding_window=8)
    spec = ModelSpec.from_config(config, name="tiny", total_params=10**6)
    assert spec.layer_windows == (8, None, 8)


def test_one_window_without_layer_types_holds_in_every_layer() -> None:
    config = CONFIG_MAPPING["mistral"](**CONFIGS["mistral"], sliding_window=8)
    assert ModelSpec.from_config(config, name="tiny", total_params=10**6).layer_windows == (8, 8, 8)


def test_a_window_that_is_switched_off_is_no_window() -> None:
    config = CONFIG_MAPPING["qwen2"](**CONFIGS["qwen2"], sliding_window=8, use_sliding_window=False)
    assert ModelSpec.from_config(config, name="tiny", total_params=10**6).layer_windows == (None,) * 3


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (SimpleNamespace(model_type="mamba"), "'mamba'"),
        (SimpleNamespace(), "'None'"),
        (SimpleNamespace(model_type="llama", num_attention_heads=4), "hidden_size"),
        (SimpleNamespace(model_type="deepseek_v3", **SIZES), "q_lora_rank"),
        (SimpleNamespace(model_type="deepseek_v3", q_lora_rank=None, **SIZES), "kv_lora_rank"),
        (SimpleNamespace(model_type="llama", kv_lora_rank=512, **SIZES), "kv_lora_rank is set, but llama"),
        (SimpleNamespace(model_type="llama", **SIZES, **EXPERTS), "num_local_experts is set, but llama"),
        (SimpleNamespace(model_type="llama", **(SIZES | {"num_attention_heads": 6})), "head_dim"),
        (
            SimpleNamespace(model_type="llama", **(SIZES | {"num_key_value_heads": None})),
            "num_key_value_heads",
        ),
        (SimpleNamespace(model_type="llama", **SIZES, tie_word_embeddings=None), "tie_word_embeddings"),
        (
            SimpleNamespace(
                model_type="llama", **SIZES, tie_word_embeddings=False, layer_types=["chunked_attention"] * 3
            ),
            "chunked_attention",
        ),
        (
            SimpleNamespace(
                model_type="qwen3_moe", **SIZES, **EXPERTS, tie_word_embeddings=False, mlp_only_layers=[0]
            ),
            "mlp_only_layers",
        ),
    ],
)
def test_a_config_that_leaves_something_open_is_refused_by_name(config: object, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ModelSpec.from_config(config, name="tiny", total_params=10**6)


def test_fewer_parameters_than_the_matrices_hold_are_refused() -> None:
    config = CONFIG_MAPPING["llama"](**CONFIGS["llama"])
    with pytest.raises(ValueError, match="total_params is 1,000"):
        ModelSpec.from_config(config, name="tiny", total_params=1000)


def test_query_heads_share_kv_heads_evenly() -> None:
    with pytest.raises(ValueError, match="4 KV heads"):
        dataclasses.replace(models()["smollm2-135m"], num_kv_heads=4)


def test_every_layer_says_how_it_attends() -> None:
    with pytest.raises(ValueError, match="2 layer windows for 30 layers"):
        dataclasses.replace(models()["smollm2-135m"], layer_windows=(None, None))
