"""Speculative decoding over the engine's passes, as published: Leviathan et al. 2023 (arXiv 2211.17192).

A round drafts some tokens, feeds them behind the newest one in a single pass, and keeps those that the model's own
distribution accepts; the rest is cropped off the cache.
"""

import time
from collections.abc import Callable, Generator, Sequence

import torch
from torch import Tensor

from inference.engine import Engine
from inference.jobs.drive import Drive
from inference.run.params import SamplingParams
from inference.sampling import step_rng
from inference.speculation.draft_sources import Draft, Proposal, Proposing, probabilities
from inference.speculation.records import Round
from inference.trace import StopReason


def verify(target: Callable[[int], Tensor], proposal: Proposal, rng: torch.Generator) -> tuple[int, int]:
    """How many drafted tokens are accepted, and the token that the model adds behind them.

    `target(place)` is the model's distribution p, [vocab], where the draft's was q. A draft x stands with chance
    min(1, p(x) / q(x)); in place of the first that falls comes one drawn from norm(max(p - q, 0)). What comes out
    is distributed as p, whatever q was.
    """
    for place, token_id in enumerate(proposal.token_ids):
        p, q = target(place), proposal.probabilities[place]
        if float(torch.rand((), generator=rng)) * float(q[token_id]) >= float(p[token_id]):
            left = (p - q).clamp(min=0)
            return place, draw(left if left.any() else p, rng)  # p and q may differ by rounding alone
    return len(proposal.token_ids), draw(target(len(proposal.token_ids)), rng)


def draw(weights: Tensor, rng: torch.Generator) -> int:
    """A token id by weights, [vocab], that need not sum to 1."""
    return int(torch.multinomial(weights, 1, generator=rng))


class Speculation:
    """One answer, round by round. Runs in any thread, one caller at a time; the cache is its own."""

    def __init__(
        self,
        engine: Engine,
        prompt_ids: Sequence[int],
        draft: Draft,
        params: SamplingParams,
        *,
        max_new_tokens: int,
        num_drafted: int,
    ) -> None:
        self._engine, self._draft = engine, draft
        self.prompt_ids, self.params = list(prompt_ids), params
        self._max_new_tokens, self._num_drafted = max_new_tokens, num_drafted
        self.cache = engine.new_cache()
        self._logits = torch.zeros(0)
        self.token_ids: list[int] = []
        self.rounds: list[Round] = []

    @property
    def num_cached(self) -> int:
        return int(self.cache.get_seq_length())

    @property
    def ending(self) -> StopReason | None:
        if self.token_ids and self.token_ids[-1] in self._engine.end_tokens:
            return "end token"
        if len(self.token_ids) >= self._max_new_tokens:
            return "maximum"
        return "context full" if self.num_cached >= self._engine.spec.max_context else None

    def logits_of(self, place: int) -> Tensor | None:
        """Those that token `place` of the answer was decided by, [vocab]; None if not in the newest pass."""
        first = len(self.token_ids) - len(self.rounds[-1].token_ids) if self.rounds else 0
        return self._logits[place - first] if 0 <= place - first < len(self._logits) else None

    def prefill(self) -> None:
        """Feed the prompt; its last position yields the first token, as without speculation."""
        forward = self._engine.forward(self.prompt_ids, self.cache)
        self._logits = forward.logits[None]
        chances = probabilities(forward.logits, self.params, self.prompt_ids)
        self.token_ids.append(draw(chances, step_rng(self.params.seed, 0)))

    def round(self) -> Generator[None, None, None]:
        """Draft, verify in one pass, keep what is accepted. Yields after each pass of draft and model."""
        text, rng = [*self.prompt_ids, *self.token_ids], step_rng(self.params.seed, len(self.token_ids))
        proposal, draft_s = yield from _timed(self._draft.propose(text, self._useful(text), self.params, rng))
        drafted = proposal.token_ids
        self._logits, forward = self._engine.forward_last([text[-1], *drafted], self.cache, len(drafted) + 1)
        start = time.perf_counter()
        num_accepted, added = verify(
            lambda place: probabilities(self._logits[place], self.params, [*text, *drafted[:place]]), proposal, rng
        )
        token_id: int | None = added
        for place, drafted_id in enumerate(drafted[:num_accepted]):
            if drafted_id in self._engine.end_tokens:
                num_accepted, token_id = place + 1, None
                break
        self.cache.crop(num_accepted - len(drafted))
        verify_s = time.perf_counter() - start
        self.rounds.append(Round(drafted, num_accepted, token_id, draft_s, forward.forward_s, verify_s))
        self.token_ids += self.rounds[-1].token_ids
        yield

    def _useful(self, text: Sequence[int]) -> int:
        """The pass adds a token of its own: more drafts than could still be kept are not made."""
        left = self._max_new_tokens - len(self.token_ids) - 1
        return min(self._num_drafted, left, self._engine.spec.max_context - len(text))


def _timed(work: Proposing) -> Generator[None, None, tuple[Proposal, float]]:
    """The proposal and the seconds it took; what others do with the device between its passes is left out."""
    drive, spent_s, start = Drive(work), 0.0, time.perf_counter()
    for _ in drive:
        spent_s += time.perf_counter() - start
        yield
        start = time.perf_counter()
    return drive.result, spent_s + time.perf_counter() - start
