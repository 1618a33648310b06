"""Bytes of attention scores if they were stored, against the KV cache of the same tokens. Estimated."""

from bisect import bisect_right
from dataclasses import dataclass

from inference.arithmetic.spec import ModelSpec
from inference.kv_cache.growth import MOST_TOKENS, cache_bytes


@dataclass(frozen=True, slots=True)
class Scores:
    """One prompt's score matrices, n queries by n keys for every query head of every layer.

    They are temporary: layers run one after another, and fused kernels (FlashAttention) compute them tile by
    tile and never write them to memory. A little less than half of each is masked, as no token sees a later one.
    """

    spec: ModelSpec
    num_tokens: int
    bits: float = 16

    def __post_init__(self) -> None:
        cache_bytes(self.spec, context_len=self.num_tokens)  # refuses lengths nobody has
        if self.bits <= 0:
            raise ValueError(f"a score must have more than 0 bits, got {self.bits:g}")

    @property
    def row_bytes(self) -> float:
        """What a decode step has of one head: one query's scores."""
        return self.num_tokens * self.bits / 8

    @property
    def matrix_bytes(self) -> float:
        """One head in one layer."""
        return self.num_tokens * self.row_bytes

    @property
    def stored_bytes(self) -> float:
        """All heads and layers at once, which nobody keeps."""
        return self.spec.num_layers * self.spec.num_query_heads * self.matrix_bytes

    @property
    def kv_bytes(self) -> float:
        """The KV cache of the same tokens, which is kept."""
        return cache_bytes(self.spec, context_len=self.num_tokens)

    @property
    def masked_share(self) -> float:
        """Of each matrix."""
        return (self.num_tokens - 1) / (2 * self.num_tokens)


def outgrown_from(spec: ModelSpec, *, bits: float = 16) -> int:
    """The smallest prompt whose scores, all stored, would be larger than its KV cache, in tokens.

    A search: scores grow with the square of the length, a cache at most with the length, so they cross once.
    """
    return 1 + bisect_right(range(1, MOST_TOKENS + 1), False, key=lambda n: _is_larger(Scores(spec, n, bits)))


def _is_larger(scores: Scores) -> bool:
    return scores.stored_bytes > scores.kv_bytes
