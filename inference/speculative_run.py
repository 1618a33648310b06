"""Speculative decoding over the engine's passes, as published: Leviathan et al. 2023 (arXiv 2211.17192).

A round drafts some tokens, feeds them behind the newest one in a single pass, and keeps those that the model's own
distribution accepts; the rest is cropped off the cache.
"""

import time
from collections.abc import Callable, Generator, Sequence

import torch
from torch import Tensor

from inference import tokens
from inference.cost import kv_bytes
from inference.draft import LOOK_UP, draft_name
from inference.draft_sources import Draft, Proposal, Proposing, open_draft, probabilities
from inference.engine import Engine
from inference.experiments import Report, Work
from inference.generation import Generation
from inference.limits import Limits
from inference.params import SamplingParams
from inference.recipe import Recipe
from inference.sampling import step_rng
from inference.speculative import MOST_DRAFTED, Parting, Repeat, Request, Round, Speculated
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
    spent_s = 0.0
    while True:
        start = time.perf_counter()
        try:
            next(work)
        except StopIteration as end:
            proposal: Proposal = end.value
            return proposal, spent_s + time.perf_counter() - start
        spent_s += time.perf_counter() - start
        yield


def begin(engine: Engine, request: Request) -> Generation:
    """The same request without speculation."""
    return Generation(
        engine,
        request.prompt,
        SamplingParams(temperature=request.temperature, seed=request.seed),
        request.max_new_tokens,
        chat_template=request.chat_template and engine.is_chat_model,
    )


def begin_speculating(engine: Engine, request: Request) -> Speculation:
    plain = begin(engine, request)
    return Speculation(
        engine,
        [token.id for token in plain.trace.prompt_tokens],
        open_draft(request.draft, engine),
        plain.params,
        max_new_tokens=request.max_new_tokens,
        num_drafted=request.num_drafted,
    )


def check(engine: Engine, limits: Limits, request: Request) -> None:
    """Refuse what cannot be run, before any pass."""
    if not 1 <= request.num_drafted <= MOST_DRAFTED:
        raise ValueError(f"Drafts per round must be from 1 to {MOST_DRAFTED}, got {request.num_drafted}.")
    if request.draft not in (LOOK_UP, draft_name()):
        raise ValueError(
            f"No draft is called {request.draft!r} here; start the server with TWOPHASES_DRAFT set to it."
        )
    if any(engine.spec.layer_windows):
        raise ValueError(
            f"{engine.name} has layers with a sliding window, which cannot give back rejected tokens; "
            "choose a model with full attention."
        )
    limits.check(Recipe(request.prompt, max_new_tokens=request.max_new_tokens))
    plain = begin(engine, request)
    limits.check_tokens(plain)
    most = min(len(plain.trace.prompt_tokens) + request.max_new_tokens, engine.spec.max_context)
    limits.check_kv(2 * kv_bytes(engine.spec, context_len=most), "The two KV caches, with speculation and without,")


def compare(engine: Engine, request: Request, num_repeats: int) -> Work[Speculated]:
    """Decode with speculation and without, taking turns: after each round, plain decoding catches up."""
    if request.draft != LOOK_UP:
        yield Report(0.0, doing="loading the draft model")
    done: list[Repeat] = []
    first: _Both | None = None
    for number in range(num_repeats):
        both = _Both(engine, request)
        first = first or both
        for _ in both.run():
            whole = len(first.plain.trace.steps) if done else request.max_new_tokens
            share = min(len(both.plain.trace.steps) / whole, 1.0)
            repeats = (*done, both.repeat) if not done or both.is_finished else tuple(done)
            found = first.told(repeats) if first.speculation.rounds and repeats[0].plain_s else None
            yield Report((number + share) / num_repeats, found, f"repeat {number + 1} of {num_repeats}")
        done.append(both.repeat)
    assert first is not None
    return first.told(tuple(done))


class _Both:
    """One repeat: the request with speculation and without, each with its own cache."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine, self._request = engine, request
        self.plain, self.speculation = begin(engine, request), begin_speculating(engine, request)
        self._logit_difference = 0.0
        self._parting: Parting | None = None

    @property
    def is_finished(self) -> bool:
        return self.plain.finished and self.speculation.ending is not None

    def run(self) -> Generator[None, None, None]:
        self.speculation.prefill()
        yield
        self.plain.prefill()
        yield
        while not self.is_finished:
            if self.speculation.ending is None:
                yield from self.speculation.round()
            while not self.plain.finished and self._is_behind():
                self.plain.decode()
                self._compare()
                yield

    def _is_behind(self) -> bool:
        is_over = self.speculation.ending is not None
        return is_over or len(self.plain.trace.steps) < len(self.speculation.token_ids)

    def _compare(self) -> None:
        """The newest plain step with the position that decided on the same token, as long as the texts agree."""
        place, forward = len(self.plain.trace.steps) - 1, self.plain.last
        logits = self.speculation.logits_of(place)
        if not self.plain.params.is_greedy or self._parting or forward is None or logits is None:
            return
        self._logit_difference = max(self._logit_difference, float((forward.logits - logits).abs().max()))
        if self.plain.trace.steps[-1].token_id != self.speculation.token_ids[place]:
            best, second = forward.logits.topk(2).values.tolist()
            self._parting = Parting(place, best - second)

    @property
    def repeat(self) -> Repeat:
        steps = self.plain.trace.steps[1:]
        return Repeat(tuple(self.speculation.rounds), tuple(step.forward_s + step.sample_s for step in steps))

    def told(self, repeats: tuple[Repeat, ...]) -> Speculated:
        """All that is known, with these repeats; this one is the first of them."""
        ids = self.speculation.token_ids
        return Speculated(
            request=self._request,
            dtype=str(self._engine.dtype).removeprefix("torch."),
            num_prompt=len(self.plain.trace.prompt_tokens),
            first_id=ids[0],
            repeats=repeats,
            text=tokens.decode(self._engine.tokenizer, ids),
            plain_ids=tuple(step.token_id for step in self.plain.trace.steps),
            logit_difference=self._logit_difference,
            parting=self._parting,
            ending=self.speculation.ending if self.is_finished else None,
        )
