"""Parameters beside the matrices: norms, biases, position tables, sinks. Under 1 % of a model, counted exactly."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from inference.arithmetic.ranges import shown
from inference.arithmetic.spec import ModelSpec

UNCOUNTED = 2**63 - 1
"""Stands for `total_params` in a spec whose parameters `counted` has yet to add up."""

MOST_PARAMS = 10**14
"""Far above any published model; the largest open ones have 10**12."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """What the layers of one model type have beside their matrices."""

    norms_per_layer: int = 2
    """Each as wide as the hidden state; one more follows the last layer."""
    is_layer_norm: bool = False
    """A layer norm has a weight and a bias, an RMS norm a weight only."""
    query_key_norm: Literal["none", "per head", "all heads"] = "none"
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_mlp_bias: bool = False
    has_lm_head_bias: bool = False
    has_router_bias: bool = False
    has_sinks: bool = False
    """One number per query head that takes a share of its attention."""
    has_positions: bool = False
    """A learned vector for every position."""
    flags: tuple[str, ...] = ()
    """The fields of a config that switch biases or norms on and off."""


_LAYER_NORM_AND_BIASES = Vectors(is_layer_norm=True, has_qkv_bias=True, has_output_bias=True, has_mlp_bias=True)
_ATTENTION, _BOTH = ("attention_bias",), ("attention_bias", "mlp_bias")
VECTORS = {
    **dict.fromkeys(("llama", "granite", "smollm3"), Vectors(flags=_BOTH)),
    **dict.fromkeys(("mistral", "ministral3", "mixtral", "phi3"), Vectors()),
    **{"qwen2": Vectors(has_qkv_bias=True), "deepseek_v2": Vectors(flags=_ATTENTION)},
    **dict.fromkeys(("qwen3", "qwen3_moe"), Vectors(query_key_norm="per head", flags=_ATTENTION)),
    "gemma": Vectors(flags=_ATTENTION),
    "gemma2": Vectors(norms_per_layer=4, flags=_ATTENTION),
    "gemma3_text": Vectors(norms_per_layer=4, query_key_norm="per head", flags=_ATTENTION),
    "olmo2": Vectors(query_key_norm="all heads", flags=_ATTENTION),
    "gpt2": replace(_LAYER_NORM_AND_BIASES, has_positions=True),
    "gpt_neox": replace(_LAYER_NORM_AND_BIASES, flags=_ATTENTION),
    "phi": replace(_LAYER_NORM_AND_BIASES, norms_per_layer=1, has_lm_head_bias=True, flags=("qk_layernorm",)),
    "gpt_oss": Vectors(
        has_qkv_bias=True,
        has_output_bias=True,
        has_mlp_bias=True,
        has_router_bias=True,
        has_sinks=True,
        flags=_ATTENTION,
    ),
    "deepseek_v3": Vectors(has_router_bias=True, flags=_ATTENTION),  # it balances the load of the experts
}
"""Read off the modules of transformers 5.24."""
FLAGS = sorted({name for vectors in VECTORS.values() for name in vectors.flags})


def counted(spec: ModelSpec, model_type: str, flags: Mapping[str, object] | None = None) -> ModelSpec:
    """The spec with `total_params` added up: its matrices, and what `vector_params` counts."""
    total = spec.matrix_params + vector_params(spec, model_type, flags)
    if total > MOST_PARAMS:
        raise ValueError(
            f"{spec.name}: this shape has {total:.3g} parameters, no model has more than {MOST_PARAMS:.0e}; check "
            "layers, widths and experts"
        )
    return replace(spec, total_params=total)


def vector_params(spec: ModelSpec, model_type: str, flags: Mapping[str, object] | None = None) -> int:
    """Parameters of a model of this type outside its matrices.

    `flags` are the config's fields of `FLAGS`; one that the model type does not have is passed over, as
    transformers does.
    """
    vectors = _switched(VECTORS[model_type], flags or {})
    norm = spec.hidden_size * (2 if vectors.is_layer_norm else 1)
    once = norm
    once += spec.vocab_size if vectors.has_lm_head_bias else 0
    once += spec.max_context * spec.hidden_size if vectors.has_positions else 0
    per_layer = vectors.norms_per_layer * norm + _attention(spec, vectors)
    return once + spec.num_layers * per_layer + _mlps(spec, vectors)


def _switched(vectors: Vectors, flags: Mapping[str, object]) -> Vectors:
    for name in vectors.flags:
        value = flags.get(name)
        if value is None:
            continue
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {shown(value)}")
        if name == "attention_bias":
            vectors = replace(vectors, has_qkv_bias=value, has_output_bias=value)
        elif name == "mlp_bias":
            vectors = replace(vectors, has_mlp_bias=value)
        else:
            vectors = replace(vectors, query_key_norm="per head" if value else "none")
    return vectors


def _attention(spec: ModelSpec, vectors: Vectors) -> int:
    """Of one layer."""
    query, key = spec.num_query_heads * spec.head_dim, spec.num_kv_heads * spec.head_dim
    normed = {"none": 0, "per head": 2 * spec.head_dim, "all heads": query + key}[vectors.query_key_norm]
    count = normed * (2 if vectors.is_layer_norm else 1)
    inputs = query + 2 * key
    if spec.mla:
        compressed = (spec.mla.q_lora_rank or 0) + spec.mla.kv_lora_rank
        count += compressed  # both are normed
        inputs = compressed + spec.mla.qk_rope_head_dim
    count += inputs if vectors.has_qkv_bias else 0
    count += spec.hidden_size if vectors.has_output_bias else 0
    return count + (spec.num_query_heads if vectors.has_sinks else 0)


def _mlps(spec: ModelSpec, vectors: Vectors) -> int:
    """Biases of the MLPs, or of all experts and their router, in all layers."""
    num_routed = spec.num_layers - spec.num_dense_layers
    num_experts = spec.moe.num_experts if spec.moe else 0
    count = num_routed * num_experts if vectors.has_router_bias else 0
    if vectors.has_mlp_bias:
        count += spec.num_dense_layers * sum(outputs for _, outputs in spec.mlp_matrices)
        count += num_routed * num_experts * sum(outputs for _, outputs in spec.expert_matrices)
    return count
