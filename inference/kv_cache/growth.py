"""How KV caches grow beside the weights: where they cross, and how many fit in one accelerator. Estimated."""

from bisect import bisect_right
from dataclasses import dataclass, replace

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range
from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes

MOST_TOKENS = 10_000_000
"""Of context that may be asked for: the longest any model claims today."""
MOST_CONVERSATIONS = 1_000_000
_SEARCHED = 10**12  # tokens; what is not crossed by then never is, as every layer slides


@dataclass(frozen=True, slots=True)
class Room:
    """What one accelerator has left for KV caches once the weights are in its memory."""

    free_bytes: float
    """Below 0, the weights alone do not fit. Activations and the program itself are left out: at best."""
    conversations: int
    """Of the context asked for."""
    longest_context: int | None
    """Tokens of one conversation alone; None where every layer slides and any length fits."""


def in_bits(spec: ModelSpec, *, weight_bits: float, kv_bits: float) -> ModelSpec:
    """The same shape with other widths of weights and cache."""
    if weight_bits <= 0 or kv_bits <= 0:
        raise ValueError(f"widths must be above 0 bits, got weights of {weight_bits:g} and a cache of {kv_bits:g}")
    return replace(spec, weight_bits=weight_bits, kv_bits=kv_bits)


def cache_bytes(spec: ModelSpec, *, context_len: int, batch_size: int = 1) -> float:
    """Bytes of the caches; each layer by its own rule. ValueError refuses lengths and batches nobody has."""
    Range(1, MOST_TOKENS, "tokens").whole("the context", context_len)
    Range(1, MOST_CONVERSATIONS, "conversations").whole("the batch", batch_size)
    return kv_bytes(spec, context_len=context_len, batch_size=batch_size)


def outweighing_batch(spec: ModelSpec, *, context_len: int) -> int:
    """The smallest number of conversations of this length whose caches are larger than the weights."""
    return int(spec.weight_bytes // cache_bytes(spec, context_len=context_len)) + 1


def matching_context(spec: ModelSpec, *, batch_size: int = 1) -> float | None:
    """The context, in tokens, at which the caches are exactly as large as the weights; None if they never are.

    A fraction of a token more often than not: the bytes are a straight line from one token to the next.
    """
    before = longest_within(spec, spec.weight_bytes, batch_size=batch_size)
    if before is None:
        return None
    below = kv_bytes(spec, context_len=before, batch_size=batch_size)
    above = kv_bytes(spec, context_len=before + 1, batch_size=batch_size)
    return before + (spec.weight_bytes - below) / (above - below)


def longest_within(spec: ModelSpec, num_bytes: float, *, batch_size: int = 1) -> int | None:
    """Tokens of context whose caches take at most `num_bytes`; None where any number does.

    A search and not a division, so that windows need no case of their own: the bytes never fall with the context.
    """
    cache_bytes(spec, context_len=1, batch_size=batch_size)  # refuses a wrong batch

    def bytes_at(context_len: int) -> float:
        return kv_bytes(spec, context_len=context_len, batch_size=batch_size)

    longest = bisect_right(range(1, _SEARCHED + 1), num_bytes, key=bytes_at)
    return None if longest == _SEARCHED else longest


def room(spec: ModelSpec, machine: Hardware, *, context_len: int) -> Room:
    """What fits into the memory on the vendor's label beside the weights."""
    if machine.memory_bytes is None:
        raise ValueError(f"{machine.name} has no fixed memory; choose an accelerator that has")
    free = machine.memory_bytes - spec.weight_bytes
    each = cache_bytes(spec, context_len=context_len)
    return Room(
        free_bytes=free,
        conversations=max(0, int(free // each)),
        longest_context=longest_within(spec, free) if free > 0 else 0,
    )
