"""What a transformers config says about the layers, field by field; what it leaves unsaid is an error."""

# Model types whose layers are exactly what `ModelSpec` counts; the value says whether the MLP is gated
# (gate, up and down: three matrices) or not (up and down).
IS_MLP_GATED = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3"), True),
    **dict.fromkeys(("olmo2", "granite", "smollm3", "mixtral", "qwen3_moe", "gpt_oss"), True),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3"), True),
    **dict.fromkeys(("gpt2", "phi", "gpt_neox"), False),
}
NO_GQA = ("gpt2", "gpt_neox")  # configs without a KV head count: one KV head per query head


def mlp_gating(model_type: str) -> bool:
    """Whether this model type's MLP has a gate; an error for a type whose layers are not known."""
    if model_type not in IS_MLP_GATED:
        known = ", ".join(sorted(IS_MLP_GATED))
        raise ValueError(f"the layers of model type {model_type!r} are not known; known types: {known}")
    return IS_MLP_GATED[model_type]


def whole_number(config: object, *names: str, default: int | None = None) -> int:
    """The first of these fields that is set."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    if default is None:
        model_type = getattr(config, "model_type", "this")
        raise ValueError(f"the {model_type} config has no whole number {' or '.join(names)}")
    return default


def head_dim(config: object) -> int:
    """Width of one head: its own field, or the hidden size shared out."""
    hidden, heads = whole_number(config, "hidden_size"), whole_number(config, "num_attention_heads")
    if getattr(config, "head_dim", None) is None and hidden % heads:
        raise ValueError(f"the config has no head_dim, and hidden_size {hidden} is no multiple of {heads} heads")
    return whole_number(config, "head_dim", default=hidden // heads)


def layer_windows(config: object) -> tuple[int | None, ...]:
    """Sliding window of each layer, None for full attention: from `layer_types`, or one for all layers."""
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        slides = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
        kinds = ["sliding_attention" if slides else "full_attention"] * whole_number(config, "num_hidden_layers")
    if unknown := set(kinds) - {"full_attention", "sliding_attention"}:
        raise ValueError(f"layer_types has {sorted(unknown)}; known are full_attention and sliding_attention")
    return tuple(whole_number(config, "sliding_window") if k == "sliding_attention" else None for k in kinds)
