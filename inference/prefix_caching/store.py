"""Prefix caching for real: the keys and values of full blocks, kept and put together again into a KV cache."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import torch
from torch import Tensor
from transformers import DynamicCache

from inference.engine import Engine
from inference.prefix_caching.cache import Lease, PrefixCache
from inference.prefix_caching.records import CachedPrefill, block_bytes


@dataclass(frozen=True, slots=True, eq=False)
class BlockTensors:
    """Of one block, a copy of its own: [layers, kv_heads, block_size, head_dim] each."""

    keys: Tensor
    values: Tensor

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes


class PrefixStore:
    """Kept blocks of one engine. A request copies what it hits, so no request can change what another reads."""

    def __init__(self, engine: Engine, *, block_size: int, budget_bytes: float) -> None:
        self.engine = engine
        self.cache: PrefixCache[BlockTensors] = PrefixCache(
            block_size=block_size,
            block_bytes=block_bytes(engine.spec, block_size),
            budget_bytes=budget_bytes,
        )

    @property
    def kept_bytes(self) -> int:
        """Measured on the tensors."""
        return sum(content.nbytes for content in self.cache.contents())

    def request(self, token_ids: Sequence[int], salt: str = "") -> "PrefixRequest":
        """Serve a prompt: `with store.request(ids) as request`, so that its blocks are let go whatever happens."""
        return PrefixRequest(self, token_ids, salt)


class PrefixRequest:
    """One prompt, its own KV cache, greedy tokens. A pass that fails leaves it useless; close it and ask again."""

    def __init__(self, store: PrefixStore, token_ids: Sequence[int], salt: str) -> None:
        self._store, self._salt = store, salt
        self._fed = list(token_ids)
        self._cache: DynamicCache | None = None
        self._lease: Lease[BlockTensors] | None = None
        self.tokens: list[int] = []
        """The output so far; the newest is not in the KV cache."""
        self.logits = torch.empty(0)
        """[vocab], float32, on the CPU: those of the newest pass."""

    def __enter__(self) -> "PrefixRequest":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def prefill(self) -> CachedPrefill:
        """Find the kept beginning, copy it into a KV cache, and compute the rest in one pass."""
        store = self._store
        start = time.perf_counter()
        self._lease = store.cache.lease(self._fed, self._salt)
        hit_s = time.perf_counter()
        self._cache = store.engine.new_cache()
        _fill(self._cache, [block.content for block in self._lease.blocks])
        filled = time.perf_counter()
        num_hits, size = self._lease.num_hits, store.cache.block_size
        self._take(self._fed[num_hits * size :])
        end = time.perf_counter()
        return CachedPrefill(
            prompt_tokens=len(self._fed),
            block_size=size,
            hit_blocks=num_hits,
            lookup_s=hit_s - start,
            assemble_s=filled - hit_s,
            forward_s=end - filled,
            token_id=self.tokens[-1],
        )

    def decode(self) -> float:
        """One token more; the seconds it took."""
        start = time.perf_counter()
        self._fed.append(self.tokens[-1])
        self._take(self._fed[-1:])
        return time.perf_counter() - start

    def keep(self) -> float:
        """Store the full blocks of everything fed so far, as far as there is room; the seconds it took."""
        if self._cache is None or self._lease is None:
            raise RuntimeError("there is nothing to keep; call prefill() first")
        start, layers, size = time.perf_counter(), self._cache.layers, self._store.cache.block_size

        def make(place: int) -> BlockTensors:
            span = slice(place * size, (place + 1) * size)
            return BlockTensors(
                torch.stack([layer.keys[0, :, span] for layer in layers]),
                torch.stack([layer.values[0, :, span] for layer in layers]),
            )

        self._store.cache.extend(self._lease, self._fed, make)
        return time.perf_counter() - start

    def close(self) -> None:
        """Let its blocks go; they stay kept until somebody needs their room."""
        if self._lease is not None:
            self._store.cache.release(self._lease)
        self._cache = None

    def _take(self, token_ids: Sequence[int]) -> None:
        assert self._cache is not None
        self.logits = self._store.engine.forward(token_ids, self._cache).logits
        self.tokens.append(int(self.logits.argmax()))


def _fill(cache: DynamicCache, blocks: Sequence[BlockTensors]) -> None:
    """Put the blocks behind each other: one copy for all layers, of which each layer gets its part."""
    if not blocks:
        return
    keys = torch.cat([block.keys for block in blocks], dim=2)
    values = torch.cat([block.values for block in blocks], dim=2)
    for place, layer in enumerate(cache.layers):
        layer.lazy_initialization(keys[place, None], values[place, None])
        layer.keys, layer.values = keys[place, None], values[place, None]  # `update` would copy them once more
