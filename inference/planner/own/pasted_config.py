"""A model from its `config.json`, pasted as text: read like any transformers config, and refused where unclear."""

import json
from types import SimpleNamespace

from inference.arithmetic.architectures import is_known, known_type
from inference.arithmetic.ranges import shown
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.vector_params import FLAGS, UNCOUNTED, counted
from inference.files.json_text import json_text

LONGEST_TEXT = 1_000_000  # characters; real files have a few thousand
LONGEST_NAME = 80
_LONGEST_NUMBER = 25  # digits; a longer one is no field of a config, and Python is slow to read it

Fields = dict[str, object]

# What real files leave out because the class of transformers 5.24 fills it in, by model type.
_TIED: Fields = {"tie_word_embeddings": True}
_UNTIED: Fields = {"tie_word_embeddings": False}
_SWITCHED_OFF: Fields = {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28}
DEFAULTS: dict[str, Fields] = {
    **dict.fromkeys(("llama", "mixtral", "phi", "phi3", "olmo2", "granite", "gpt_neox"), _UNTIED),
    **dict.fromkeys(("gpt2", "smollm3"), _TIED),
    "mistral": {**_UNTIED, "sliding_window": 4096},
    "ministral3": {**_UNTIED, "head_dim": 128},
    "qwen2": {**_UNTIED, **_SWITCHED_OFF},
    "qwen3": {**_UNTIED, **_SWITCHED_OFF, "head_dim": 128},
    "qwen3_moe": {**_UNTIED, "use_sliding_window": False, "sliding_window": 4096},
    "gemma": {**_TIED, "head_dim": 256},
    "gemma2": {**_TIED, "head_dim": 256, "sliding_window": 4096},
    "gemma3_text": {
        **_TIED,
        **{"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
        **{"vocab_size": 262_208, "max_position_embeddings": 131_072},
    },
    "gpt_oss": {**_UNTIED, "head_dim": 64, "sliding_window": 128},
    "deepseek_v2": {**_UNTIED, "first_k_dense_replace": 0, "n_shared_experts": 2},
    "deepseek_v3": {**_UNTIED, "first_k_dense_replace": 3, "n_shared_experts": 1},
}
# Without num_key_value_heads, or with null, these have one KV head per query head, as before GQA.
_MAY_LACK_KV_HEADS = ("llama", "phi", "phi3", "olmo2", "granite", "deepseek_v2")
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
"""Where multimodal models describe their text decoder."""
_DEEPEST = 3  # a speaking model describes a thinker, and that its text decoder
_NESTED_TYPE = {"gemma3": "gemma3_text", "mistral3": "mistral", "llava": "llama"}
"""The type of a decoder that states none, as the class of transformers 5.24 fills it in."""
_FIXED_TYPE = ("gemma3",)
"""Model types whose decoder can be of no other."""


def spec_from_json(text: str, *, name: str = "Pasted model") -> ModelSpec:
    """The model that a pasted `config.json` describes, with 16-bit weights and cache; its parameters are counted.

    Of a multimodal model the text decoder. Every `ValueError` names the field, the value and the rule.
    """
    label = name.strip()
    if not 0 < len(label) <= LONGEST_NAME:
        raise ValueError(f"the name must have 1 to {LONGEST_NAME} characters, got {len(label):,}")
    fields = _decoder(parsed(text))
    spec = ModelSpec.from_config(SimpleNamespace(**fields), name=label, total_params=UNCOUNTED)
    return counted(spec, str(fields["model_type"]), {name: fields.get(name) for name in FLAGS})


def parsed(text: str) -> Fields:
    """The fields of the file, as they stand in it."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"the text has {len(text):,} characters; a config.json has at most {LONGEST_TEXT:,}")
    try:
        fields = json.loads(json_text(text), object_pairs_hook=_without_duplicates, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}; paste the whole "
            "config.json, from its first brace to its last"
        ) from None
    except RecursionError:
        raise ValueError("this JSON is nested too deeply for a config.json; paste the file of a model") from None
    return config_object("the text", fields)


def config_object(what: str, value: object) -> Fields:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a JSON object like {{...}}, got {shown(value)}; paste the config.json")
    return value


def _without_duplicates(pairs: list[tuple[str, object]]) -> Fields:
    fields: Fields = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the field {shown(key)} is there twice; keep one")
        fields[key] = value
    return fields


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else digits  # as text it is refused where it is used


def decoder_fields(fields: Fields) -> Fields:
    """The fields of the text decoder as they stand in the file: a multimodal model's has a place of its own."""
    for _ in range(_DEEPEST):
        kind = fields.get("model_type")
        if kind is None:
            raise ValueError("model_type is missing; paste the whole config.json of a Hugging Face model")
        if not isinstance(kind, str):
            raise ValueError(f"model_type must be text, got {shown(kind)}")
        place = next((name for name in _NESTED if name in fields), "text_config")
        if is_known(kind) or (place not in fields and kind not in _NESTED_TYPE):
            break
        nested = {"model_type": _NESTED_TYPE.get(kind), **config_object(place, fields.get(place))}
        if kind in _FIXED_TYPE and nested["model_type"] != _NESTED_TYPE[kind]:
            raise ValueError(
                f"{place} must be of model type {_NESTED_TYPE[kind]!r}, got {shown(nested['model_type'])}"
            )
        fields = {**nested, **{key: fields[key] for key in _TIED if key in fields}}
    return fields


def _decoder(fields: Fields) -> Fields:
    """The fields of the text decoder, with what its class fills in."""
    fields = decoder_fields(fields)
    try:
        kind = known_type(str(fields["model_type"]))
    except ValueError as error:
        raise ValueError(
            f"{error}. Describe another model by its numbers, if all its layers have attention"
        ) from None
    filled = {**DEFAULTS[kind], **fields, "model_type": kind}
    if kind in _MAY_LACK_KV_HEADS and filled.get("num_key_value_heads") is None:
        filled["num_key_value_heads"] = filled.get("num_attention_heads")
    return filled
