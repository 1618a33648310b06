"""Prefix caching as bookkeeping: which blocks hit, which go, and that none is left in use."""

from __future__ import annotations

import hashlib
import random
import struct
from typing import Any

import pytest

from inference.catalogue import models
from inference.cost import kv_bytes
from inference.prefix_caching.cache import Lease, PrefixCache, block_hashes
from inference.prefix_caching.records import saving

KILOBYTE = 1e3


def kept(num_blocks: int, block_size: int = 4) -> PrefixCache[tuple[int, ...]]:
    """A cache with room for that many blocks; a block's content is its tokens."""
    return PrefixCache(block_size=block_size, block_bytes=KILOBYTE, budget_bytes=num_blocks * KILOBYTE)


def served(cache: PrefixCache[tuple[int, ...]], ids: list[int], salt: str = "") -> Lease[tuple[int, ...]]:
    """A request that came, was kept, and is still under way."""
    lease = cache.lease(ids, salt)
    size = cache.block_size
    cache.extend(lease, ids, lambda place: tuple(ids[place * size : (place + 1) * size]))
    return lease


def hits(cache: PrefixCache[tuple[int, ...]], ids: list[int], salt: str = "") -> int:
    """Blocks that a request would hit now; it holds them for a moment, and so makes them young."""
    lease = cache.lease(ids, salt)
    cache.release(lease)
    return lease.num_hits


def test_a_hash_covers_the_parents_hash_the_salt_and_the_tokens() -> None:
    salt = hashlib.sha256(b"tenant A").digest()
    first = hashlib.sha256(bytes(32) + salt + struct.pack("<2q", 7, 8)).digest()
    second = hashlib.sha256(first + salt + struct.pack("<2q", 9, 10)).digest()
    assert block_hashes([7, 8, 9, 10, 11], 2, "tenant A") == [first, second]


def test_one_changed_token_changes_its_block_and_every_later_one() -> None:
    ids = list(range(40))
    changed = [*ids[:9], 99, *ids[10:]]
    same = [one == other for one, other in zip(block_hashes(ids, 4), block_hashes(changed, 4), strict=True)]
    assert same == [True] * 2 + [False] * 8


def test_equal_blocks_after_different_beginnings_have_different_hashes() -> None:
    assert block_hashes([1, 2, 5, 6], 2)[1] != block_hashes([3, 4, 5, 6], 2)[1]


def test_another_salt_makes_every_hash_another() -> None:
    ids = list(range(12))
    assert not set(block_hashes(ids, 4, "tenant A")) & set(block_hashes(ids, 4, "tenant B"))
    cache = kept(10)
    cache.release(served(cache, ids, "tenant A"))
    assert [hits(cache, [*ids, 0], salt) for salt in ("tenant A", "tenant B", "")] == [3, 0, 0]


def test_partial_blocks_never_hit() -> None:
    cache = kept(10)
    cache.release(served(cache, list(range(11))))  # two full blocks of 4, three tokens over
    assert cache.num_blocks == 2
    assert hits(cache, list(range(11))) == 2
    assert hits(cache, list(range(20))) == 2
    assert hits(cache, list(range(7))) == 1
    assert hits(cache, list(range(3))) == 0


def test_a_prompt_kept_to_its_end_computes_its_last_block_again() -> None:
    cache = kept(10)
    cache.release(served(cache, list(range(8))))
    assert hits(cache, list(range(8))) == 1, "somebody has to compute the logits after the last token"
    assert hits(cache, list(range(9))) == 2
    cache.release(served(cache, list(range(8))))
    assert cache.num_blocks == 2, "what was computed again is not kept twice"


def test_the_worked_numbers_of_an_8b() -> None:
    """Worked by hand: 2,000 shared and 100 new tokens."""
    spec = models()["llama-3.1-8b"]
    ids = [token % 128_000 for token in range(2_000)]
    cache = kept(200, block_size=16)
    cache.release(served(cache, ids))
    lease = cache.lease(ids + [7] * 100)
    assert lease.num_hits == cache.num_blocks == 125
    saved = saving(spec, prompt_tokens=2_100, cached_tokens=2_000)
    assert saved.cold.flops == pytest.approx(3.05e13, rel=0.002)
    assert saved.warm.flops == pytest.approx(1.50e12, rel=0.003)
    assert round(saved.share, 3) == 0.951
    assert saved.share < 2_000 / 2_100, "the new tokens attend to the whole prefix"
    assert kv_bytes(spec, context_len=2_000) == pytest.approx(262e6, rel=0.001)


def test_the_block_unused_for_longest_goes_first() -> None:
    cache = kept(3)
    for first in (0, 100, 200):
        cache.release(served(cache, [first, 1, 2, 3]))
    assert hits(cache, [0, 1, 2, 3, 4]) == 1  # young again
    cache.release(served(cache, [300, 1, 2, 3]))
    assert cache.num_evicted == 1
    assert [hits(cache, [first, 1, 2, 3, 4]) for first in (0, 100, 200, 300)] == [1, 0, 1, 1]


def test_of_one_request_the_end_goes_before_the_beginning() -> None:
    cache = kept(3)
    cache.release(served(cache, list(range(12))))
    cache.release(served(cache, list(range(50, 54))))
    assert hits(cache, list(range(13))) == 2


def test_a_block_in_use_is_not_evicted_and_a_full_cache_fails_nobody() -> None:
    cache = kept(2)
    running = served(cache, list(range(8)))
    other = served(cache, list(range(50, 62)))
    assert (len(other.blocks), cache.num_blocks, cache.num_evicted) == (0, 2, 0)
    cache.release(other)
    cache.release(running)
    cache.release(served(cache, list(range(50, 62))))
    assert (cache.num_blocks, cache.num_evicted) == (2, 2)


def num_references(cache: PrefixCache[Any]) -> int:
    """Over all blocks and requests; 0 when no request is under way."""
    return sum(block.num_users for block in cache._blocks.values())


def test_two_requests_at_once_share_their_blocks() -> None:
    cache = kept(4)
    first, second = served(cache, list(range(9))), served(cache, list(range(9)))
    assert (cache.num_blocks, num_references(cache)) == (2, 4)
    cache.release(first)
    assert num_references(cache) == 2
    cache.release(first)
    assert num_references(cache) == 2, "giving back twice gives back once"
    cache.release(second)
    assert num_references(cache) == 0


@pytest.mark.parametrize("block_size", [0, -1, 257])
def test_a_block_of_no_size_is_refused(block_size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 256 tokens, got {block_size}"):
        kept(4, block_size)


def test_a_budget_smaller_than_one_block_is_refused_with_both_sizes() -> None:
    with pytest.raises(ValueError, match=r"budget of 0.5 MB is smaller than one block: 16 tokens take 0.737 MB"):
        PrefixCache(block_size=16, block_bytes=737_280, budget_bytes=0.5e6)


def test_no_schedule_leaves_a_reference_or_an_orphan() -> None:
    """Requests come, grow, fail while they are kept, end and are cancelled, in any order."""
    for seed in range(200):
        _run_a_schedule(seed)


def _run_a_schedule(seed: int) -> None:
    rng = random.Random(seed)
    cache = kept(rng.randint(1, 12), block_size=rng.randint(1, 4))
    running: list[tuple[Lease[tuple[int, ...]], list[int]]] = []
    for _ in range(40):
        if running and rng.random() < 0.4:
            cache.release(running.pop(rng.randrange(len(running)))[0])  # finished or cancelled
        else:
            ids = [rng.randrange(2) for _ in range(rng.randint(1, 16))]
            running.append((cache.lease(ids, rng.choice(["", "A"])), ids))
        if running:
            lease, ids = rng.choice(running)
            ids += [rng.randrange(2) for _ in range(rng.randrange(4))]
            fails_at = rng.randint(0, 8)

            def make(place: int, ids: list[int] = ids, fails_at: int = fails_at) -> tuple[int, ...]:
                if place == fails_at:
                    raise MemoryError
                return tuple(ids[: (place + 1) * cache.block_size])

            try:
                cache.extend(lease, ids, make)
            except MemoryError:
                cache.release(lease)
                running = [one for one in running if one[0] is not lease]
        assert cache.num_blocks <= cache.capacity, seed
        assert num_references(cache) == sum(len(lease.blocks) for lease, _ in running), seed
        beginnings = set(cache.contents())
        assert all(not ids[: -cache.block_size] or ids[: -cache.block_size] in beginnings for ids in beginnings), (
            f"a block whose parent is gone could never be found, seed {seed}"
        )
    for lease, _ in running:
        cache.release(lease)
    assert num_references(cache) == 0, seed
