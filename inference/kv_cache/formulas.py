"""Bytes of a KV cache by the right formula and by the two that are usually written instead."""

import math
from dataclasses import dataclass

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes, kv_bytes_per_token

Factor = tuple[float, str]
"""A number and the word for what it counts."""
_KEY_AND_VALUE: Factor = (2, "(key, value)")


@dataclass(frozen=True, slots=True)
class Formula:
    """One way of counting the keys and values that a token leaves behind."""

    name: str
    """What it counts: "KV heads"."""
    factors: tuple[Factor, ...]
    """What is multiplied to `bytes_per_token`."""
    times_right: float
    """Its bytes over the right formula's."""

    @property
    def bytes_per_token(self) -> float:
        """In all layers."""
        return _product(self.factors)

    @property
    def written(self) -> str:
        """As a multiplication in words: 2 (key, value) × 3 KV heads × 64 values × 30 layers × 4 bytes."""
        return " × ".join(f"{number:,g} {word}" for number, word in self.factors)


def formulas(spec: ModelSpec) -> tuple[Formula, Formula, Formula]:
    """The right one and the two usual wrong ones, in this order."""
    return right_formula(spec), by_query_heads(spec), by_hidden_width(spec)


def right_formula(spec: ModelSpec) -> Formula:
    """Keys and values of the KV heads; under MLA one latent vector and one rotary key, shared by all heads."""
    if mla := spec.mla:
        width = mla.kv_lora_rank + mla.qk_rope_head_dim
        values = (width, f"values ({mla.kv_lora_rank} latent, {mla.qk_rope_head_dim} rotary key)")
        return _formula(spec, "latent", values)
    heads = (spec.num_kv_heads, "KV heads" if spec.num_kv_heads > 1 else "KV head")
    return _formula(spec, "KV heads", _KEY_AND_VALUE, heads, (spec.head_dim, "values"))


def by_query_heads(spec: ModelSpec) -> Formula:
    """What "attention heads" gives when read as query heads: right only where each has a KV head of its own.

    Under MLA it is the keys and values expanded for every head, the key with its rotary part, the value at its
    own width: what MLA exists in order not to keep.
    """
    heads = (spec.num_query_heads, "query heads")
    if mla := spec.mla:
        key, value = mla.qk_nope_head_dim + mla.qk_rope_head_dim, mla.v_head_dim
        return _formula(spec, "query heads", heads, (key + value, f"values ({key} key, {value} value)"))
    return _formula(spec, "query heads", _KEY_AND_VALUE, heads, (spec.head_dim, "values"))


def by_hidden_width(spec: ModelSpec) -> Formula:
    """A key and a value as wide as the hidden state: right only where the KV heads together are that wide."""
    return _formula(spec, "hidden width", _KEY_AND_VALUE, (spec.hidden_size, "hidden width"))


def cache_bytes(spec: ModelSpec, formula: Formula, *, context_len: int) -> float:
    """Bytes of one sequence's cache as this formula counts them.

    A sliding layer keeps its window only under every formula, so that each shows its own mistake and no other.
    """
    return kv_bytes(spec, context_len=context_len) * formula.times_right


def window_factor(spec: ModelSpec, *, context_len: int) -> float:
    """How much too much counting sliding layers in full gives; 1 as long as no window is full."""
    return context_len * kv_bytes_per_token(spec) / kv_bytes(spec, context_len=context_len)


def _formula(spec: ModelSpec, name: str, *values: Factor) -> Formula:
    factors = (*values, (spec.num_layers, "layers"), (spec.kv_bits / 8, "bytes"))
    return Formula(name, factors, _product(factors) / kv_bytes_per_token(spec))


def _product(factors: tuple[Factor, ...]) -> float:
    return math.prod(number for number, _ in factors)
