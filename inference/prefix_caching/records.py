"""One request over the prefix cache as it was measured, and what its prefill costs by arithmetic."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from inference.arithmetic.estimate import estimate
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.cost import Work, forward_work, kv_bytes, kv_bytes_per_token
from inference.prefix_caching.cache import check_blocks


@dataclass(frozen=True, slots=True)
class CachedPrefill:
    """One request up to its first token, measured."""

    prompt_tokens: int
    block_size: int
    hit_blocks: int
    lookup_s: float
    """Hashing the prompt and finding its blocks."""
    assemble_s: float
    """Copying the hit blocks into the request's own KV cache."""
    forward_s: float
    """The prefill of what was not hit, and choosing the first token."""
    token_id: int
    """The first token."""

    @property
    def cached_tokens(self) -> int:
        return self.hit_blocks * self.block_size

    @property
    def computed_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    @property
    def missed_blocks(self) -> int:
        """Full blocks that had to be computed."""
        return self.prompt_tokens // self.block_size - self.hit_blocks

    @property
    def ttft_s(self) -> float:
        """Without tokenising and queueing, which prefix caching does not change."""
        return self.lookup_s + self.assemble_s + self.forward_s


def median_ttft_s(requests: Sequence[CachedPrefill]) -> float:
    return statistics.median(request.ttft_s for request in requests)


@dataclass(frozen=True, slots=True)
class Saving:
    """A prefill without and with its beginning in the cache, estimated."""

    cold: Work
    warm: Work

    @property
    def share(self) -> float:
        """Of the FLOPs that are saved: a little under the share of the tokens, as new ones attend to all."""
        return 1 - self.warm.flops / self.cold.flops


def saving(spec: ModelSpec, *, prompt_tokens: int, cached_tokens: int) -> Saving:
    cold = forward_work(spec, num_query_tokens=prompt_tokens, context_len=prompt_tokens)
    warm = forward_work(spec, num_query_tokens=prompt_tokens - cached_tokens, context_len=prompt_tokens)
    return Saving(cold, warm)


def estimated_ttft_s(spec: ModelSpec, ceilings: Ceilings, *, prompt_tokens: int, cached_tokens: int) -> float:
    """Seconds of the prefill at this machine's rates; hit blocks are read and written once to be joined."""
    likely = estimate(spec, ceilings, num_query_tokens=prompt_tokens - cached_tokens, context_len=prompt_tokens)
    return likely.total_s + 2 * kv_bytes(spec, context_len=cached_tokens) / ceilings.bandwidth


def block_bytes(spec: ModelSpec, block_size: int) -> float:
    """Keys and values of one block."""
    return block_size * kv_bytes_per_token(spec)


def check_request(spec: ModelSpec, *, block_size: int, budget_bytes: float, num_tokens: int, what: str) -> None:
    """Refuse before any work what cannot be kept in such blocks or is longer than the model's context."""
    if any(window is not None for window in spec.layer_windows):
        raise ValueError(
            f"{spec.name} has sliding-window layers, which forget the beginning of a prompt; this lab needs a "
            "model with full attention in every layer."
        )
    check_blocks(block_size=block_size, block_bytes=block_bytes(spec, block_size), budget_bytes=budget_bytes)
    if num_tokens > spec.max_context:
        raise ValueError(
            f"{what} reaches {num_tokens:,} tokens, the model's context holds {spec.max_context:,}; "
            "choose a shorter one."
        )
