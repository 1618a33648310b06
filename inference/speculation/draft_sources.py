"""The two drafts: each proposes tokens together with the chance it gave to every token of the vocabulary."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from inference.engine import Engine
from inference.run.params import SamplingParams
from inference.sampling import stages
from inference.speculation.draft import LOOK_UP, look_up
from inference.weights import WeightsError


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    token_ids: tuple[int, ...]
    probabilities: Tensor
    """[tokens, vocab]: what the draft drew each of them from."""


Proposing = Generator[None, None, Proposal]
"""Yields after each forward pass of the draft."""


class Draft(Protocol):
    def propose(
        self, token_ids: Sequence[int], num_tokens: int, params: SamplingParams, rng: torch.Generator
    ) -> Proposing:
        """Up to `num_tokens` tokens to follow `token_ids`."""
        ...


def open_draft(name: str, engine: Engine) -> Draft:
    """A draft for one run of `engine`; ValueError names a smaller model that does not fit it."""
    if name == LOOK_UP:
        return LookUp(engine.spec.vocab_size)
    small = _loaded(name)
    check_tokenizer(small, engine)
    return SmallModel(small, engine.spec.vocab_size)


@cache
def _loaded(name: str) -> Engine:
    """Kept beside the server's own model, shared and read-only like it."""
    try:
        return Engine.load(name)
    except WeightsError as error:
        raise ValueError(f"the draft {name} cannot be loaded: {error}") from error


def check_tokenizer(draft: Engine, engine: Engine) -> None:
    """A drafted id must mean the same text to both."""
    ours, theirs = engine.tokenizer.get_vocab(), draft.tokenizer.get_vocab()
    if ours == theirs:
        return
    differing = {token for token, token_id in theirs.items() if ours.get(token) != token_id}
    raise ValueError(
        f"the draft {draft.name} has another tokenizer than {engine.name}: {len(differing):,} of its "
        f"{len(theirs):,} tokens have another id there or none; set TWOPHASES_DRAFT to a smaller model of the same "
        "family"
    )


class LookUp:
    """No model: what followed the newest tokens earlier in the text. All its chance lies on the token it names."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size

    def propose(
        self, token_ids: Sequence[int], num_tokens: int, params: SamplingParams, rng: torch.Generator
    ) -> Proposing:
        drafted = look_up(token_ids, num_tokens)
        yield from ()
        return Proposal(drafted, one_hot(torch.tensor(drafted, dtype=torch.long), self._vocab_size).float())


class SmallModel:
    """A smaller model decodes ahead, with a KV cache of its own, under the same sampling settings."""

    def __init__(self, engine: Engine, vocab_size: int) -> None:
        self._engine, self._vocab_size = engine, vocab_size
        self._cache = engine.new_cache()
        self._cached: list[int] = []

    def propose(
        self, token_ids: Sequence[int], num_tokens: int, params: SamplingParams, rng: torch.Generator
    ) -> Proposing:
        text, rows = list(token_ids), list[Tensor]()
        self._keep_common(text[:-1])
        most = self._engine.spec.max_context - len(text) + 1
        for _ in range(min(num_tokens, most)):
            logits = self._engine.forward(text[len(self._cached) :], self._cache).logits
            self._cached = list(text)
            rows.append(probabilities(self._fitted(logits), params, text))
            text.append(int(torch.multinomial(rows[-1], 1, generator=rng)))
            yield
        drafted = tuple(text[len(token_ids) :])
        return Proposal(drafted, torch.stack(rows) if rows else torch.zeros(0, self._vocab_size))

    def _keep_common(self, text: Sequence[int]) -> None:
        """Crop what the model behind us did not accept."""
        num_common = 0
        for held, wanted in zip(self._cached, text, strict=False):
            if held != wanted:
                break
            num_common += 1
        self._cache.crop(num_common - len(self._cached))
        del self._cached[num_common:]

    def _fitted(self, logits: Tensor) -> Tensor:
        """Models of one family pad their vocabularies to different widths; no text maps to the padding."""
        logits = logits[: self._vocab_size]
        return pad(logits, (0, self._vocab_size - len(logits)), value=-torch.inf)


def probabilities(logits: Tensor, params: SamplingParams, token_ids: Sequence[int]) -> Tensor:
    """What a token is drawn from, [vocab]; greedy decoding puts everything on the most probable one."""
    last = stages(logits, params, token_ids)[-1]
    if params.is_greedy:
        return one_hot(last.logits.argmax(), last.logits.numel()).float()
    return last.probabilities
