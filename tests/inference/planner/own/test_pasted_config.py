"""Pasted config.json files: one of each family against the catalogue and transformers, and everything refused."""

import contextlib
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from inference.arithmetic.architectures import IS_MLP_GATED
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.vector_params import FLAGS, UNCOUNTED, counted
from inference.catalogue import models
from inference.cost import kv_bytes_per_token
from inference.planner.own.pasted_config import DEFAULTS, spec_from_json
from inference.planner.own.pasted_quantisation import quantisation

FILES = {path.stem: path for path in sorted((Path(__file__).parent / "configs").glob("*.json"))}
"""By catalogue id, with the fields of the published file."""


def fields(model_id: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(FILES[model_id].read_text(encoding="utf-8"))
    return loaded


LLAMA = fields("smollm2-135m")


def pasted(config: object) -> ModelSpec:
    return spec_from_json(json.dumps(config), name="Mine")


def by_transformers(config: dict[str, Any]) -> ModelSpec:
    """The same file through the config class of transformers, which fills in what it leaves out."""
    read = CONFIG_MAPPING[config["model_type"]].from_dict(config).get_text_config()
    spec = ModelSpec.from_config(read, name="Mine", total_params=UNCOUNTED)
    return counted(spec, read.model_type, {name: getattr(read, name, None) for name in FLAGS})


@pytest.mark.parametrize("model_id", FILES)
def test_the_file_of_a_catalogued_model_gives_its_row(model_id: str) -> None:
    row = models()[model_id]
    spec = spec_from_json(FILES[model_id].read_text(encoding="utf-8"))
    assert dataclasses.replace(spec, id=row.id, name=row.name, source=row.source) == row
    assert kv_bytes_per_token(spec) == kv_bytes_per_token(row)


@pytest.mark.parametrize("model_id", FILES)
def test_transformers_reads_the_same_shape_from_the_file(model_id: str) -> None:
    config = fields(model_id)
    assert pasted(config) == by_transformers(config)


@pytest.mark.parametrize("model_id", FILES)
def test_what_a_file_may_leave_out_is_what_transformers_fills_in(model_id: str) -> None:
    config = fields(model_id)
    inner = config.get("text_config", config)
    for name in DEFAULTS[inner["model_type"]].keys() & inner.keys():
        left_out = {key: value for key, value in inner.items() if key != name}
        whole = left_out if inner is config else {**config, "text_config": left_out}
        if name in ("num_attention_heads", "num_key_value_heads") and inner["model_type"] == "gemma3_text":
            continue  # a default that does not fit the other number of heads; together they are below
        assert pasted(whole) == by_transformers(whole), name


def test_every_known_type_has_its_defaults() -> None:
    assert DEFAULTS.keys() == IS_MLP_GATED.keys()


SMALL = {
    **{"vocab_size": 96, "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 7},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64},
}
GEMMA = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}


@pytest.mark.parametrize(
    "config",
    [
        *(
            {"model_type": kind} | SMALL
            for kind in ("llama", "phi", "phi3", "olmo2", "granite", "gpt_neox", "gemma")
        ),
        *(
            {"model_type": kind} | SMALL
            for kind in ("smollm3", "mistral", "ministral3", "qwen3", "gemma2", "gemma3_text")
        ),
        {"model_type": "gemma3", "text_config": GEMMA | {"sliding_window": 1024}, "vision_config": {}},
        {"model_type": "gemma3_text", "sliding_window_pattern": 3} | SMALL,
        {"model_type": "gemma3_text", "layer_types": ["full_attention"] * 7} | SMALL,
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 3} | SMALL,
        {"model_type": "qwen3", "use_sliding_window": True, "max_window_layers": 5, "head_dim": 16} | SMALL,
        {"model_type": "qwen2", "use_sliding_window": True} | SMALL,
        {"model_type": "smollm3", "use_sliding_window": False, "sliding_window": 8} | SMALL,
        {"model_type": "phi3", "sliding_window": 47} | SMALL,
        {"model_type": "llama", "attention_bias": True, "mlp_bias": True} | SMALL,
        {"model_type": "mistral", "head_dim": 16} | SMALL,
        {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 96},
        {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"},
        LLAMA | {"num_key_value_heads": None},
        LLAMA | {"num_key_value_heads": 1},
    ],
    ids=str,
)
def test_a_file_that_leaves_much_out_is_read_as_transformers_reads_it(config: dict[str, Any]) -> None:
    assert pasted(config) == by_transformers(config)


def test_the_outer_config_says_whether_a_nested_decoder_is_tied() -> None:
    nested = {"model_type": "gemma3", "text_config": GEMMA}
    assert pasted(nested).is_tied
    assert not pasted(nested | {"tie_word_embeddings": False}).is_tied


def test_an_alternating_and_a_five_to_one_mix_and_one_window_for_all() -> None:
    assert pasted(fields("gpt-oss-20b")).layer_windows[:3] == (128, None, 128)
    assert pasted(fields("gemma-3-27b")).layer_windows[:7] == (*[1024] * 5, None, 1024)
    assert pasted(fields("mistral-7b-v0.1")).layer_windows == (4096,) * 32


KIMI_K2 = fields("deepseek-v3") | {
    **{"model_type": "kimi_k2", "vocab_size": 163_840, "num_attention_heads": 64, "num_key_value_heads": 64},
    **{"n_routed_experts": 384, "first_k_dense_replace": 1, "max_position_embeddings": 131_072},
}
"""The fields of moonshotai/Kimi-K2-Instruct that count parameters; all others are DeepSeek-V3's."""
MISTRAL_SMALL = {
    **{"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32_768, "num_hidden_layers": 40},
    **{"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131_072},
    **{"max_position_embeddings": 131_072, "sliding_window": None},
}
"""The text_config of mistralai/Mistral-Small-3.1-24B-Instruct-2503."""


@pytest.mark.parametrize(
    ("config", "num_params"),
    [
        (KIMI_K2, 1_026_408_232_448),
        ({"model_type": "mistral3", "text_config": MISTRAL_SMALL, "vision_config": {}}, 23_572_403_200),
    ],
    ids=["kimi_k2", "mistral3"],
)
def test_published_parameters_of_other_names_for_known_layers(config: dict[str, Any], num_params: int) -> None:
    """Counts of the published checkpoints' own indexes, the text decoder's of the second."""
    assert pasted(config).total_params == num_params


def on_the_meta_device(config: dict[str, Any]) -> int:
    """Parameters of the text decoder that transformers builds, without memory."""
    built = CONFIG_MAPPING[config["model_type"]].from_dict(config)
    with torch.device("meta"):
        if built.get_text_config() is built:
            model: Any = AutoModelForCausalLM.from_config(built)
        else:
            model = AutoModel.from_config(built.get_text_config())
    counted: int = sum(
        tensor.numel() for tensor in model.state_dict().values()
    )  # with the experts' balancing biases
    has_head = model.get_output_embeddings() is not None
    return (
        counted
        if has_head
        else counted + config["text_config"]["vocab_size"] * config["text_config"]["hidden_size"]
    )


@pytest.mark.parametrize(
    "config",
    [
        KIMI_K2 | {"model_type": "deepseek_v3", "num_hidden_layers": 3},
        {"model_type": "mistral3", "text_config": MISTRAL_SMALL, "vision_config": {}},
        {"model_type": "ministral3"} | SMALL,
        *(
            {"model_type": f"{kind}_vl", "text_config": {"model_type": f"{kind}_vl_text"} | SMALL}
            for kind in ("qwen2", "qwen2_5", "qwen3")
        ),
        {"model_type": "llava", "text_config": {"model_type": "llama"} | SMALL, "vision_config": {}},
        {"model_type": "internvl", "text_config": {"model_type": "qwen2"} | SMALL},
    ],
    ids=lambda config: config["model_type"],
)
def test_a_wrapped_or_renamed_decoder_has_the_parameters_of_transformers_own(config: dict[str, Any]) -> None:
    assert pasted({**config, "tie_word_embeddings": False}).total_params == on_the_meta_device(config)


@pytest.mark.parametrize("place", ["text_config", "llm_config", "language_config"])
def test_a_decoder_is_found_wherever_the_wrapper_keeps_it(place: str) -> None:
    assert pasted({"model_type": "a_new_one", place: LLAMA}) == pasted(LLAMA)
    deeper = {"model_type": "omni", "thinker_config": {"model_type": "thinker", place: LLAMA}}
    assert pasted(deeper) == pasted(LLAMA)


def test_a_wrapper_of_an_unknown_decoder_is_refused_by_the_decoders_type() -> None:
    with pytest.raises(ValueError, match="model type 'mllama_text_model' are not known"):
        pasted({"model_type": "mllama", "text_config": LLAMA | {"model_type": "mllama_text_model"}})
    with pytest.raises(ValueError, match="llm_config must be a JSON object"):
        pasted({"model_type": "internvl_chat", "llm_config": [1]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is not JSON: .* in line 1, column 1; paste the whole config.json"),
        ("model: llama", "this is not JSON"),
        ('{"model_type": "llama",}', "this is not JSON"),
        ("[1, 2]", "the text must be a JSON object .*, got a list of 2"),
        ("7", "the text must be a JSON object .*, got 7"),
        ("null", "the text must be a JSON object .*, got None"),
        ("{}", "model_type is missing"),
        ('{"dim": 4096, "n_layers": 32}', "model_type is missing"),
        ('{"model_type": ["llama"]}', "model_type must be text, got a list of 1"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "'model_type' is there twice; keep one"),
        ('{"model_type": "llama", "rope_scaling": {"a": 1, "a": 2}}', "'a' is there twice"),
        ('{"model_type": "gemma3"}', "text_config must be a JSON object"),
        ('{"model_type": "gemma3", "text_config": {"model_type": "llama"}}', "text_config must be of model type"),
        ("[" * 10_000 + "]" * 10_000, "nested too deeply"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested too deeply"),
        ("x" * 50_000_000, "the text has 50,000,000 characters; a config.json has at most 1,000,000"),
    ],
    ids=lambda value: value[:40],
)
def test_a_text_that_is_no_config_is_refused_with_its_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spec_from_json(text)
    if not text.startswith("{"):
        with pytest.raises(ValueError, match=message):
            quantisation(text)


@pytest.mark.parametrize(
    "kind",
    [
        "rwkv",
        "mamba2",
        "jamba",
        "qwen3_next",
        "bamba",
        "llama4",
        "qwen2_vl",
        "mllama",
        "t5",
        "deepseek_v32",
        "模型",
    ],
)
def test_a_type_with_other_layers_is_refused_by_name_with_the_known_ones(kind: str) -> None:
    with pytest.raises(
        ValueError, match=f"model type '{kind}' are not known; known types: deepseek_v2, .*qwen3_moe"
    ):
        pasted(LLAMA | {"model_type": kind})


FIELDS = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
ABSURD = ["4096", "", True, False, -1, 0, 30.0, 1e300, math.nan, math.inf, 10**9 + 1, 10**400, [30], {"a": 1}]


@pytest.mark.parametrize("name", [*FIELDS, "num_key_value_heads", "max_position_embeddings", "head_dim"])
def test_a_number_that_no_model_has_is_refused_by_field_and_value(name: str, subtests: pytest.Subtests) -> None:
    words = rf"^{name} must be (a whole number )?from 1 to [\d,]+, got "
    for value in ABSURD:
        with subtests.test(value=repr(value)[:12]):
            with pytest.raises(ValueError, match=words) as refusal:
                pasted(LLAMA | {name: value})
            assert len(str(refusal.value)) < 150


@pytest.mark.parametrize("name", [*FIELDS, "max_position_embeddings"])
def test_a_number_that_is_missing_is_refused_by_name(name: str) -> None:
    for config in ({**LLAMA, name: None}, {key: value for key, value in LLAMA.items() if key != name}):
        with pytest.raises(ValueError, match=f"the llama config has no whole number {name}"):
            pasted(config)


DEEPSEEK = fields("deepseek-v3")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            LLAMA | {"num_key_value_heads": 4},
            "num_attention_heads must be a multiple of num_key_value_heads, got 9",
        ),
        (
            LLAMA | {"num_attention_heads": 10, "num_key_value_heads": 5},
            "hidden_size 576 is no multiple of 10 heads",
        ),
        (LLAMA | {"tie_word_embeddings": "yes"}, "tie_word_embeddings must be true or false, got 'yes'"),
        (LLAMA | {"attention_bias": 1}, "attention_bias must be true or false, got 1"),
        (LLAMA | {"hidden_size": "576"}, "got '576'; write it without quotes"),
        (LLAMA | {"layer_types": ["full_attention"]}, "layer_types must name the attention of 30 layers"),
        (LLAMA | {"layer_types": ["linear_attention"] * 30}, "layer_types has 'linear_attention'; known are"),
        (LLAMA | {"layer_types": [["full_attention"]] * 30}, "layer_types has a list of 1"),
        (LLAMA | {"layer_types": "full_attention"}, "layer_types must name"),
        (LLAMA | {"num_experts_per_tok": 2}, "num_experts_per_tok is set, but llama layers have none"),
        (LLAMA | {"kv_lora_rank": 512}, "kv_lora_rank is set, but llama layers have none"),
        (LLAMA | {"use_bidirectional_attention": True}, "use_bidirectional_attention is True; only llama"),
        (fields("mistral-7b-v0.1") | {"sliding_window": 0}, "sliding_window must be from 1 to"),
        (fields("mistral-7b-v0.1") | {"sliding_window": "4096"}, "sliding_window must be a whole number"),
        (fields("gemma-2-9b") | {"sliding_window": None}, "the gemma2 config has no whole number sliding_window"),
        (
            fields("gpt-oss-20b") | {"num_experts_per_tok": 33},
            "experts_per_token must be at most num_experts, got 33",
        ),
        (fields("mixtral-8x7b") | {"num_local_experts": None}, "no whole number num_local_experts or num_experts"),
        (fields("qwen3-30b-a3b") | {"moe_intermediate_size": None}, "no whole number moe_intermediate_size"),
        (fields("qwen3-30b-a3b") | {"mlp_only_layers": [0, 1]}, "mlp_only_layers is a list of 2"),
        (fields("qwen3-30b-a3b") | {"decoder_sparse_step": 2}, "decoder_sparse_step is 2"),
        (DEEPSEEK | {"moe_layer_freq": 2}, "moe_layer_freq is 2"),
        (DEEPSEEK | {"first_k_dense_replace": 62}, "62 dense layers in a model of 61"),
        (DEEPSEEK | {"kv_lora_rank": None}, "no whole number kv_lora_rank"),
        (DEEPSEEK | {"q_lora_rank": -1}, "q_lora_rank must be from 1 to"),
        ({key: value for key, value in DEEPSEEK.items() if key != "q_lora_rank"}, "the config has no q_lora_rank"),
    ],
)
def test_fields_that_do_not_fit_together_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pasted(config)


def test_a_shape_of_more_parameters_than_any_model_is_refused() -> None:
    wide = {"hidden_size": 10**6, "intermediate_size": 10**6, "num_hidden_layers": 1000, "head_dim": 64}
    with pytest.raises(ValueError, match=r"this shape has 3e\+15 parameters, no model has more than 1e\+14"):
        pasted(LLAMA | wide)


def test_a_missing_field_of_gpt2_is_named_as_its_file_names_it() -> None:
    with pytest.raises(ValueError, match="the gpt2 config has no whole number n_layer; add the field"):
        pasted(fields("gpt2") | {"n_layer": None})


def test_a_number_of_a_million_digits_is_refused_before_it_is_read() -> None:
    text = json.dumps(LLAMA).replace("576", "9" * 900_000)
    with pytest.raises(ValueError, match="hidden_size must be a whole number"):
        spec_from_json(text)


def test_a_name_is_short_text_of_any_script() -> None:
    assert spec_from_json("\ufeff" + json.dumps(LLAMA), name=" Überмодель 模型 ").name == "Überмодель 模型"
    for name in ("", "  ", "x" * 81):
        with pytest.raises(ValueError, match="the name must have 1 to 80 characters"):
            spec_from_json(json.dumps(LLAMA), name=name)


NAMES = sorted({name for file in FILES for name in fields(file)} | {"n_embd", "__class__", "__dict__", "", "模"})
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JUNK = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.sampled_from(NAMES), SCALARS, max_size=3)


@settings(max_examples=100, deadline=None)
@given(model_id=st.sampled_from(sorted(FILES)), junk=st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=3))
def test_junk_in_any_field_is_read_or_refused(model_id: str, junk: dict[str, object]) -> None:
    text = json.dumps(fields(model_id) | junk)
    for read in (spec_from_json, quantisation):
        with contextlib.suppress(ValueError):
            read(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        spec_from_json(text)
