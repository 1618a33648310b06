"""Two prompts with the same beginning: the second one served cold and warm in turn, then decoded on both ways."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.jobs.experiments import Job, Report, Reports
from inference.kv_cache.paged import equal_start
from inference.prefix_caching.both_ways import BothWays, decode_both
from inference.prefix_caching.prompts import document, question, with_change
from inference.prefix_caching.records import CachedPrefill, check_request, median_ttft_s
from inference.run import tokens

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

REPEATS = 3
NEW_TOKENS = 12
SHARED_TOKENS = 800
CHANGED = 3
LONGEST_TEXT = 8_000  # characters of a prompt of the learner's own


@dataclass(frozen=True, slots=True)
class PairPrompts:
    """How two prompts are made: one document before two questions, or two texts of the learner's own."""

    shared_tokens: int = SHARED_TOKENS
    changed: int = 0
    """The token of the second document that is another, counted from 1; 0 for none."""
    own: tuple[str, str] | None = None

    def token_ids(self, engine: "Engine") -> tuple[list[int], list[int]]:
        tokenizer = engine.tokenizer
        if self.own is not None:
            first, second = (tokens.encode(tokenizer, text, chat_template=False) for text in self.own)
            return first, second
        shared = document(tokenizer, self.shared_tokens)
        return (
            shared + question(tokenizer, 0),
            with_change(shared, self.changed) + question(tokenizer, 1),
        )

    @property
    def name(self) -> str:
        if self.own is None:
            return f"{self.shared_tokens} shared, token {self.changed} changed"
        return "own " + hashlib.sha256(repr(self.own).encode(errors="backslashreplace")).hexdigest()[:24]


WINS, LOSES = "Same document, two questions", "One token changed early (loses)"
PRESETS = {WINS: PairPrompts(), LOSES: PairPrompts(changed=CHANGED)}


@dataclass(frozen=True, slots=True)
class PairRun:
    """The second prompt after the first. Only the first one's blocks are kept, so every repeat finds the same."""

    spec: ModelSpec
    block_size: int
    first_ids: tuple[int, ...]
    second_ids: tuple[int, ...]
    first: CachedPrefill
    """The first prompt, into an empty cache."""
    keep_s: float
    """Copying its full blocks out after its first token; no TTFT waits for that."""
    kept_bytes: int
    """Of those blocks, measured on the tensors."""
    cold: tuple[CachedPrefill, ...] = ()
    """The second prompt against an empty cache, one per repeat."""
    warm: tuple[CachedPrefill, ...] = ()
    """The same against the kept blocks, in turn with the cold ones."""
    both: BothWays | None = None

    @property
    def shared_tokens(self) -> int:
        return equal_start(self.first_ids, self.second_ids)

    @property
    def speedup(self) -> float:
        """Cold over warm TTFT, by the medians."""
        return median_ttft_s(self.cold) / median_ttft_s(self.warm)


def pair_job(
    prompts: PairPrompts | None = None,
    *,
    block_size: int = 16,
    repeats: int = REPEATS,
    new_tokens: int = NEW_TOKENS,
) -> Job[PairRun]:
    """Serve the first prompt once, then the second cold and warm in turn, after one round that is not counted."""
    chosen = prompts or PairPrompts()

    def begin(engine: "Engine", limits: "Limits") -> Reports[PairRun]:
        pair = chosen.token_ids(engine)
        if not all(pair):
            raise ValueError("A prompt is empty; type some text into both.")
        longest = max(map(len, pair)) + new_tokens
        check_request(
            engine.spec,
            block_size=block_size,
            budget_bytes=_budget_bytes(engine.spec, pair[0], block_size),
            num_tokens=longest,
            what="The longer prompt with its output",
        )
        limits.check_kv(kv_bytes(engine.spec, context_len=longest, batch_size=3), "Two requests and kept blocks")
        return run(engine)

    def run(engine: "Engine") -> Reports[PairRun]:
        from inference.prefix_caching.store import PrefixStore  # noqa: PLC0415  # pages must not wait for torch

        first_ids, second_ids = chosen.token_ids(engine)
        budget_bytes = _budget_bytes(engine.spec, first_ids, block_size)
        store, empty = (PrefixStore(engine, block_size=block_size, budget_bytes=budget_bytes) for _ in range(2))
        with store.request(first_ids) as request:
            first = request.prefill()
            keep_s = request.keep()
        pair_run = PairRun(
            engine.spec, block_size, tuple(first_ids), tuple(second_ids), first, keep_s, store.kept_bytes
        )
        yield Report(1 / (2 * repeats + 4), pair_run, "the first prompt")
        for place in range(repeats + 1):
            words = f"repeat {place} of {repeats}" if place else "warm-up"
            fraction = (1 + 2 * place) / (2 * repeats + 4)
            with empty.request(second_ids) as cold, store.request(second_ids) as warm:
                without = cold.prefill()
                yield Report(fraction, pair_run, f"{words}, cold")
                reused = warm.prefill()
                if place:
                    pair_run = replace(pair_run, cold=(*pair_run.cold, without), warm=(*pair_run.warm, reused))
                yield Report(fraction, pair_run, f"{words}, warm")
                if place == repeats:
                    both = yield from decode_both(cold, warm, new_tokens, partial(_decoding, pair_run))
                    pair_run = replace(pair_run, both=both)
        return pair_run

    name = f"two prompts: {chosen.name}, blocks of {block_size}, {repeats} repeats, {new_tokens} tokens"
    return Job(name, PairRun, begin, is_kept=chosen.own is None)


def _budget_bytes(spec: ModelSpec, token_ids: Sequence[int], block_size: int) -> float:
    """Room for all of them, and for one block."""
    return kv_bytes(spec, context_len=max(len(token_ids), block_size))


def _decoding(pair_run: PairRun, share: float) -> Report[PairRun]:
    return Report(0.9 + 0.1 * share, pair_run, "decode, cold and warm in turn")
