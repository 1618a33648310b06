"""Real reuse of keys and values: the same logits, the same tokens, nothing left in use."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from inference.generation import Generation
from inference.prefix_caching.records import block_bytes
from inference.prefix_caching.store import PrefixStore
from tests.inference.passes import advance, counted, failing_once, token_ids
from tests.inference.prefix_caching.test_cache import num_references

if TYPE_CHECKING:
    from inference.engine import Engine

TINY_PROMPT = "The keeper climbed the stairs at dusk. " * 4
REAL_PROMPTS = (
    "The lighthouse keeper had not spoken to anyone for eleven days when, on the twelfth morning, a small boat "
    "with a torn grey sail came around the point and",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + ",
)


def store(engine: Engine, *, block_size: int = 16, num_blocks: int = 64) -> PrefixStore:
    return PrefixStore(
        engine, block_size=block_size, budget_bytes=num_blocks * block_bytes(engine.spec, block_size)
    )


def assert_reuse_changes_nothing(engine: Engine, prompt: str, *, num_tokens: int, tolerance: float) -> None:
    """Warm against cold logits, and warm tokens against those of a plain greedy generation."""
    plain = Generation(engine, prompt, max_new_tokens=num_tokens)
    advance(plain, num_tokens)
    ids = [token.id for token in plain.trace.prompt_tokens]
    warm_store = store(engine)
    with warm_store.request([*ids[:-3], 5, 6]) as earlier:
        earlier.prefill()
        earlier.keep()
    with store(engine).request(ids) as cold, warm_store.request(ids) as warm:
        without, reused = cold.prefill(), warm.prefill()
        assert (without.hit_blocks, reused.hit_blocks) == (0, (len(ids) - 3) // 16)
        assert reused.hit_blocks
        for _ in range(len(plain.trace.steps) - 1):
            assert float((cold.logits - warm.logits).abs().max()) < tolerance
            cold.decode()
            warm.decode()
        assert cold.tokens == warm.tokens == token_ids(plain)


def test_reuse_changes_neither_logits_nor_greedy_tokens(tiny: Engine) -> None:
    assert_reuse_changes_nothing(tiny, TINY_PROMPT, num_tokens=24, tolerance=1e-5)


@pytest.mark.real_model
@pytest.mark.parametrize("prompt", REAL_PROMPTS)
def test_reuse_changes_neither_logits_nor_greedy_tokens_of_the_default_model(real: Engine, prompt: str) -> None:
    assert_reuse_changes_nothing(real, prompt, num_tokens=24, tolerance=1e-3)


def test_only_what_was_not_hit_is_fed_through_the_model(tiny: Engine) -> None:
    kept, ids = store(tiny), list(range(50))
    with counted(tiny) as passes:
        with kept.request(ids) as request:
            first = request.prefill()
            request.keep()
        with kept.request([*ids, 60, 61]) as request:
            second = request.prefill()
    assert passes == [50, 52 - 48]
    assert (first.computed_tokens, second.computed_tokens) == (50, 4)
    assert (second.hit_blocks, second.missed_blocks, second.cached_tokens) == (3, 0, 48)


def test_one_token_changed_early_misses_every_block(tiny: Engine) -> None:
    kept, ids = store(tiny), list(range(100))
    with kept.request(ids) as request:
        request.prefill()
        request.keep()
    with kept.request([0, 1, 200, *ids[3:]]) as request:
        missed = request.prefill()
    assert (missed.hit_blocks, missed.missed_blocks) == (0, 6)


def test_kept_bytes_are_the_formulas_and_shrink_no_memory_behind_its_back(tiny: Engine) -> None:
    kept = store(tiny, num_blocks=4)
    with kept.request(list(range(100))) as request:
        request.prefill()
        request.keep()
    assert kept.kept_bytes == 4 * 16 * 256  # tiny: 256 bytes a token
    held = {tensor.untyped_storage().nbytes() for one in kept.cache.contents() for tensor in (one.keys, one.values)}
    assert held == {16 * 256 // 2}, "a block that is a view would keep the whole cache alive"


def test_blocks_written_by_decode_are_kept_too(tiny: Engine) -> None:
    kept, ids = store(tiny), list(range(30))
    with kept.request(ids) as request:
        request.prefill()
        for _ in range(4):
            request.decode()
        request.keep()
        output = request.tokens
    with kept.request([*ids, *output]) as request:
        assert request.prefill().hit_blocks == 2  # 34 tokens were fed, the newest of the five never


def test_a_request_changes_nothing_that_another_reads(tiny: Engine) -> None:
    kept, ids = store(tiny), list(range(40))
    with kept.request(ids) as request:
        request.prefill()
        request.keep()
    before = [content.keys.clone() for content in kept.cache.contents()]
    with kept.request(ids) as request:
        request.prefill()
        for _ in range(3):
            request.decode()
    assert all((one == content.keys).all() for one, content in zip(before, kept.cache.contents(), strict=True))


def test_nothing_can_be_kept_before_prefill(tiny: Engine) -> None:
    with store(tiny).request([1, 2]) as request, pytest.raises(RuntimeError, match=r"call prefill\(\) first"):
        request.keep()


def _serve_over_a_broken_layer(tiny: Engine, kept: PrefixStore, ids: list[int], fails_in: str) -> None:
    with kept.request(ids) as request:
        if fails_in == "decode":
            request.prefill()
            request.keep()
        with failing_once(tiny.model.model.layers[1], RuntimeError("broken")):
            _ = request.prefill() if fails_in == "prefill" else request.decode()


@pytest.mark.parametrize("fails_in", ["prefill", "decode"])
def test_a_pass_that_fails_leaves_no_block_in_use(tiny: Engine, fails_in: str) -> None:
    kept, ids = store(tiny), list(range(40))
    with kept.request(ids) as request:
        request.prefill()
        request.keep()
    with pytest.raises(RuntimeError, match="broken"):
        _serve_over_a_broken_layer(tiny, kept, ids, fails_in)
    assert num_references(kept.cache) == 0
    with kept.request(ids) as request:
        assert request.prefill().hit_blocks == 2


@pytest.mark.parametrize("seed", range(5))
def test_requests_that_overlap_end_and_fail_leave_no_block_in_use(tiny: Engine, seed: int) -> None:
    rng = random.Random(seed)
    kept = store(tiny, block_size=4, num_blocks=rng.randint(1, 8))
    running = []
    for _ in range(12):
        request = kept.request([rng.randrange(2) for _ in range(rng.randint(1, 20))])
        request.prefill()
        if rng.random() < 0.7:
            request.keep()
        running.append(request)
        if rng.random() < 0.5:
            running.pop(rng.randrange(len(running))).close()
        assert kept.cache.num_blocks <= kept.cache.capacity
    for request in running:
        request.close()
    assert num_references(kept.cache) == 0
