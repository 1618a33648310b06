"""What a transformers config says about the layers, field by field; what it leaves unsaid is an error."""

from types import SimpleNamespace

from inference.arithmetic import ranges
from inference.arithmetic.ranges import Range, shown

# Model types whose layers are exactly what `ModelSpec` counts; the value says whether the MLP is gated
# (gate, up and down: three matrices) or not (up and down).
IS_MLP_GATED = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3"), True),
    **dict.fromkeys(("olmo2", "granite", "smollm3", "mixtral", "qwen3_moe", "gpt_oss"), True),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "ministral3"), True),
    **dict.fromkeys(("gpt2", "phi", "gpt_neox"), False),
}
_SAME_LAYERS = {
    "kimi_k2": "deepseek_v3",
    **dict.fromkeys(("qwen2_vl_text", "qwen2_5_vl_text"), "qwen2"),
    "qwen3_vl_text": "qwen3",
}
"""Model types of other names, positions or pictures, whose layers have another type's shape."""
_OF_GPT2 = {
    **{"num_hidden_layers": "n_layer", "hidden_size": "n_embd", "num_attention_heads": "n_head"},
    **{"max_position_embeddings": "n_positions", "intermediate_size": "n_inner"},
}
NO_GQA = ("gpt2", "gpt_neox")  # configs without a KV head count: one KV head per query head
MLA = ("deepseek_v2", "deepseek_v3")
EXPERT_WIDTH = {
    **dict.fromkeys(("mixtral", "gpt_oss"), "intermediate_size"),
    **dict.fromkeys(("qwen3_moe", *MLA), "moe_intermediate_size"),
}
"""The model types with experts, and the field that holds one expert's width."""

# Fields that change what the layers are, with the values under which they are still what is counted here.
_PLAIN = {
    **{"mlp_only_layers": (None, []), "decoder_sparse_step": (None, 1), "moe_layer_freq": (None, 1)},
    **dict.fromkeys(("use_bidirectional_attention", "is_encoder_decoder", "add_cross_attention"), (None, False)),
}
_OF_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok")


def is_known(model_type: str) -> bool:
    """Whether this model type's layers are what `ModelSpec` counts."""
    return model_type in IS_MLP_GATED or model_type in _SAME_LAYERS


def known_type(model_type: str) -> str:
    """The type under which its layers are read; an error for a type whose layers are not known."""
    if not is_known(model_type):
        known = ", ".join(sorted({*IS_MLP_GATED, *_SAME_LAYERS}))
        raise ValueError(f"the layers of model type {shown(model_type)} are not known; known types: {known}")
    return _SAME_LAYERS.get(model_type, model_type)


def as_known(config: object) -> object:
    """The config, under its known type."""
    kind = str(getattr(config, "model_type", None))
    if (known := known_type(kind)) == kind:
        return config
    return SimpleNamespace(**{**vars(config), "model_type": known})


def check_plain(config: object) -> None:
    """Refuse fields that make the layers other than `ModelSpec` counts them."""
    kind = str(getattr(config, "model_type", None))
    for name, plain in _PLAIN.items():
        value = getattr(config, name, None)
        if value not in plain:
            raise ValueError(f"{name} is {shown(value)}; only {kind} models without it are read")
    foreign = () if kind in EXPERT_WIDTH else _OF_EXPERTS
    for name in (*foreign, *(() if kind in MLA else ("kv_lora_rank",))):
        if getattr(config, name, None) is not None:
            raise ValueError(f"{name} is set, but {kind} layers have none; check model_type")


def whole_number(config: object, *names: str, within: Range, default: int | None = None) -> int:
    """The first of these fields that is set."""
    model_type = getattr(config, "model_type", "this")
    spelled = [_OF_GPT2.get(name, name) if model_type == "gpt2" else name for name in names]
    for name in spelled:
        if (value := getattr(config, name, None)) is not None:
            return within.whole(name, value)
    if default is None:
        raise ValueError(f"the {model_type} config has no whole number {' or '.join(spelled)}; add the field")
    return default


def flag(config: object, name: str) -> bool:
    """A field that is true or false."""
    value = getattr(config, name, None)
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return value


def num_layers(config: object) -> int:
    return whole_number(config, "num_hidden_layers", within=ranges.LAYERS)


def hidden_size(config: object) -> int:
    return whole_number(config, "hidden_size", within=ranges.WIDTH)


def query_heads(config: object) -> int:
    return whole_number(config, "num_attention_heads", within=ranges.HEADS)


def kv_heads(config: object) -> int:
    """KV heads; every one of them serves the same number of query heads."""
    heads = query_heads(config)
    default = heads if getattr(config, "model_type", None) in NO_GQA else None
    shared = whole_number(config, "num_key_value_heads", within=ranges.HEADS, default=default)
    if heads % shared:
        raise ValueError(f"num_attention_heads must be a multiple of num_key_value_heads, got {heads} and {shared}")
    return shared


def head_dim(config: object) -> int:
    """Width of one head: its own field, or the hidden size shared out."""
    hidden, heads = hidden_size(config), query_heads(config)
    if getattr(config, "head_dim", None) is None and hidden % heads:
        raise ValueError(f"the config has no head_dim, and hidden_size {hidden} is no multiple of {heads} heads")
    return whole_number(config, "head_dim", within=ranges.HEAD_WIDTH, default=hidden // heads)


def layer_windows(config: object) -> tuple[int | None, ...]:
    """Sliding window of each layer, None for full attention."""
    return tuple(
        whole_number(config, "sliding_window", within=ranges.CONTEXT) if kind == "sliding_attention" else None
        for kind in _layer_kinds(config)
    )


def _layer_kinds(config: object) -> list[str]:
    """From `layer_types`; else as the model type's class of transformers 5.24 fills it in."""
    count, kinds = num_layers(config), getattr(config, "layer_types", None)
    if kinds is None:
        return ["sliding_attention" if is_sliding else "full_attention" for is_sliding in _slides(config, count)]
    known = ("full_attention", "sliding_attention")
    if not isinstance(kinds, list) or len(kinds) != count:
        raise ValueError(f"layer_types must name the attention of {count} layers, got {shown(kinds)}")
    if unknown := [kind for kind in kinds if kind not in known]:
        raise ValueError(f"layer_types has {shown(unknown[0])}; known are {' and '.join(known)}")
    return kinds


def _slides(config: object, count: int) -> list[bool]:
    kind, window = getattr(config, "model_type", None), getattr(config, "sliding_window", None)
    if kind in ("gemma2", "gpt_oss"):
        return [layer % 2 == 0 for layer in range(count)]
    if kind == "gemma3_text":
        group = whole_number(config, "sliding_window_pattern", within=ranges.LAYERS, default=6)
        return [(layer + 1) % group != 0 for layer in range(count)]
    if getattr(config, "use_sliding_window", None) is not None and not flag(config, "use_sliding_window"):
        return [False] * count
    if kind == "smollm3" and window is not None:
        raise ValueError("use_sliding_window of smollm3 is read from layer_types only; add that field")
    first = 0
    if kind in ("qwen2", "qwen3"):
        first = whole_number(config, "max_window_layers", within=ranges.COUNT)
    return [window is not None and layer >= first for layer in range(count)]
