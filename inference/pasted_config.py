"""A model from its `config.json`, pasted as text: read like any transformers config, and refused where unclear."""

import json
from collections.abc import Mapping
from types import SimpleNamespace

from inference.architectures import flag, mlp_gating
from inference.json_text import json_text
from inference.ranges import Range, shown
from inference.spec import ModelSpec, num_params
from inference.vector_params import FLAGS, UNCOUNTED, counted

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
_NESTED = {"gemma3": "gemma3_text"}
"""Model types whose decoder is described under `text_config`."""


def spec_from_json(text: str, *, name: str = "Pasted model") -> ModelSpec:
    """The model that a pasted `config.json` describes, with 16-bit weights and cache; its parameters are counted.

    Of a multimodal Gemma 3 the text decoder. Every `ValueError` names the field, the value and the rule.
    """
    label = name.strip()
    if not 0 < len(label) <= LONGEST_NAME:
        raise ValueError(f"the name must have 1 to {LONGEST_NAME} characters, got {len(label):,}")
    fields = _decoder(_parsed(text))
    spec = ModelSpec.from_config(SimpleNamespace(**fields), name=label, total_params=UNCOUNTED)
    return counted(spec, str(fields["model_type"]), {name: fields.get(name) for name in FLAGS})


def _parsed(text: str) -> Fields:
    """The fields of the file, as they stand in it."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"the text has {len(text):,} characters; a config.json has at most {LONGEST_TEXT:,}")
    try:
        parsed = json.loads(json_text(text), object_pairs_hook=_without_duplicates, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}; paste the whole "
            "config.json, from its first brace to its last"
        ) from None
    except RecursionError:
        raise ValueError("this JSON is nested too deeply for a config.json; paste the file of a model") from None
    return _object("the text", parsed)


def _object(what: str, value: object) -> Fields:
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


def _decoder(fields: Fields) -> Fields:
    """The fields of the text decoder, with what its class fills in."""
    kind = fields.get("model_type")
    if kind is None:
        raise ValueError("model_type is missing; paste the whole config.json of a Hugging Face model")
    if not isinstance(kind, str):
        raise ValueError(f"model_type must be text, got {shown(kind)}")
    if kind in _NESTED:
        nested = _object("text_config", fields.get("text_config"))
        if nested.get("model_type", _NESTED[kind]) != _NESTED[kind]:
            raise ValueError(
                f"text_config must be of model type {_NESTED[kind]!r}, got {shown(nested['model_type'])}"
            )
        tied = {key: fields[key] for key in _TIED if key in fields}
        fields, kind = {**nested, **tied, "model_type": _NESTED[kind]}, _NESTED[kind]
    try:
        mlp_gating(kind)
    except ValueError as error:
        raise ValueError(
            f"{error}. Describe another model by its numbers, if all its layers have attention"
        ) from None
    filled = {**DEFAULTS[kind], **fields}
    if kind in _MAY_LACK_KV_HEADS and filled.get("num_key_value_heads") is None:
        filled["num_key_value_heads"] = filled.get("num_attention_heads")
    return filled


_BITS = Range(1, 16, "bits")
_EIGHT_BITS = ("fp8", "fbgemm_fp8", "finegrained_fp8")
MXFP4_BITS = 4.25  # 4, and one 8-bit scale per 32 weights (OCP microscaling formats 1.0)


def suggested_weight_bits(text: str) -> float | None:
    """Bits per weight that the file's `quantization_config` promises; None if it has none, or an unknown one.

    It is the width of the matrices that are quantised: in most files embedding and LM head stay at 16 bits, and
    4-bit formats keep scales too. For MXFP4, where everything but the experts stays, it is the mean of all.
    """
    fields = _parsed(text)
    if fields.get("quantization_config") is None:
        return None
    quantisation = _object("quantization_config", fields["quantization_config"])
    method = quantisation.get("quant_method")
    if method == "mxfp4":
        return _experts_at(MXFP4_BITS, spec_from_json(text))
    if method in _EIGHT_BITS:
        return 8
    if method in ("gptq", "awq"):
        return _BITS.whole("quantization_config.bits", quantisation.get("bits"))
    if method == "compressed-tensors":
        return _compressed(quantisation)
    return _bitsandbytes(quantisation) if method == "bitsandbytes" else None


def _compressed(quantisation: Fields) -> float | None:
    """The one width of all groups of matrices; None where they differ."""
    groups = _object("quantization_config.config_groups", quantisation.get("config_groups"))
    weights = [_object("weights", _object(name, group).get("weights")) for name, group in groups.items()]
    widths = {_BITS.whole("num_bits", each.get("num_bits")) for each in weights}
    return widths.pop() if len(widths) == 1 else None


def _bitsandbytes(quantisation: Mapping[str, object]) -> float | None:
    for name, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
        if name in quantisation and flag(SimpleNamespace(**quantisation), name):
            return bits
    return None


def _experts_at(bits: float, spec: ModelSpec) -> float:
    """The mean over all weights when experts have this width and the rest 16 bits."""
    num_routed = spec.num_layers - spec.num_dense_layers
    num_experts = spec.moe.num_experts if spec.moe else 0
    share = num_routed * num_experts * num_params(spec.expert_matrices) / spec.total_params
    return share * bits + (1 - share) * 16
