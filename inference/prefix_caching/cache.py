"""Prefix caching as bookkeeping: blocks of tokens, chained hashes, references while in use, eviction by age.

What a block holds is the caller's: `prefix_store` keeps tensors in them. The scheme is that of vLLM's automatic
prefix caching (docs/design/prefix_caching.md): only full blocks, each found by a hash of all tokens up to its end.
"""

import hashlib
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
MOST_TOKENS_PER_BLOCK = 256
_ROOT = bytes(32)


def block_hashes(token_ids: Sequence[int], block_size: int, salt: str = "") -> list[bytes]:
    """A SHA-256 per full block, over its parent's hash, the salt's, and its own token ids.

    Equal hashes mean equal tokens from position 0 on and the same salt; an unfinished last block has none.
    """
    hashes: list[bytes] = []
    parent, mark = _ROOT, hashlib.sha256(salt.encode()).digest()
    for start in range(0, len(token_ids) - block_size + 1, block_size):
        block = token_ids[start : start + block_size]
        parent = hashlib.sha256(parent + mark + struct.pack(f"<{block_size}q", *block)).digest()
        hashes.append(parent)
    return hashes


def check_blocks(*, block_size: int, block_bytes: float, budget_bytes: float) -> None:
    """Refuse blocks of no size and a budget that does not hold one."""
    if not 1 <= block_size <= MOST_TOKENS_PER_BLOCK:
        raise ValueError(f"a block must hold 1 to {MOST_TOKENS_PER_BLOCK} tokens, got {block_size}")
    if budget_bytes < block_bytes:
        raise ValueError(
            f"A budget of {budget_bytes / 1e6:,.3g} MB is smaller than one block: {block_size} tokens take "
            f"{block_bytes / 1e6:,.3g} MB. Raise the budget or choose smaller blocks."
        )


@dataclass(slots=True, eq=False)
class Block(Generic[T]):
    """Keys and values of one full block of tokens."""

    hash: bytes
    content: T
    num_users: int = 0
    """Requests that hold it now; it is evicted only at 0."""


@dataclass(slots=True, eq=False)
class Lease(Generic[T]):
    """The blocks one request holds, from position 0 on without a gap."""

    salt: str
    num_hits: int
    """Blocks that were there when the request came."""
    blocks: list[Block[T]] = field(default_factory=list)


class PrefixCache(Generic[T]):
    """Belongs to one caller at a time. What `lease` gives out goes back through `release`."""

    def __init__(self, *, block_size: int, block_bytes: float, budget_bytes: float) -> None:
        check_blocks(block_size=block_size, block_bytes=block_bytes, budget_bytes=budget_bytes)
        self.block_size = block_size
        self.capacity = int(budget_bytes // block_bytes)
        """Blocks that fit the budget."""
        self.num_evicted = 0
        """Since the beginning."""
        self._blocks: dict[bytes, Block[T]] = {}
        self._idle: OrderedDict[bytes, Block[T]] = OrderedDict()  # nobody's now; the one to go first, first

    @property
    def num_blocks(self) -> int:
        return len(self._blocks)

    def contents(self) -> list[T]:
        """What is kept, in no particular order."""
        return [block.content for block in self._blocks.values()]

    def lease(self, token_ids: Sequence[int], salt: str = "") -> Lease[T]:
        """Hold the longest kept beginning of these tokens.

        The last token is never taken from the cache: somebody has to compute the logits after it. So of a
        prompt that is kept to its end, the last block is computed again.
        """
        lease: Lease[T] = Lease(salt, num_hits=0)
        for block_hash in block_hashes(token_ids[:-1], self.block_size, salt):
            if block_hash not in self._blocks:
                break
            self._hold(lease, self._blocks[block_hash])
        lease.num_hits = len(lease.blocks)
        return lease

    def extend(self, lease: Lease[T], token_ids: Sequence[int], make: Callable[[int], T]) -> None:
        """Keep the full blocks of a request's tokens so far; `make` gives the content of the block at a place.

        Where everything kept is in use, the rest is not kept: a request never fails for want of room here.
        """
        hashes = block_hashes(token_ids, self.block_size, lease.salt)
        for place in range(len(lease.blocks), len(hashes)):
            block = self._blocks.get(hashes[place])
            if block is None:
                if not self._has_room():
                    return
                block = self._blocks[hashes[place]] = Block(hashes[place], make(place))
            self._hold(lease, block)

    def release(self, lease: Lease[T]) -> None:
        """Give the references back; a second time does nothing.

        From the end backwards, so that of blocks as old as each other a child goes before its parent: without
        the parent it could never be found.
        """
        while lease.blocks:
            block = lease.blocks.pop()
            block.num_users -= 1
            if block.num_users == 0:
                self._idle[block.hash] = block

    def _hold(self, lease: Lease[T], block: Block[T]) -> None:
        block.num_users += 1
        self._idle.pop(block.hash, None)
        lease.blocks.append(block)

    def _has_room(self) -> bool:
        """Evict the block unused for longest if the budget is full; False if all are in use."""
        if len(self._blocks) < self.capacity:
            return True
        if not self._idle:
            return False
        oldest, _ = self._idle.popitem(last=False)
        del self._blocks[oldest]
        self.num_evicted += 1
        return True
