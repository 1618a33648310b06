"""From logits to a token: transformers' own processors, every stage between them kept, and the draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from inference.run.params import SamplingParams

__all__ = ["SamplingParams", "Stage", "draw", "sample", "stages", "step_rng"]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The logits after one processor. Shape [vocab], float32; -inf where a token is cut."""

    name: str
    logits: Tensor

    @property
    def probabilities(self) -> Tensor:
        return torch.softmax(self.logits, dim=-1)

    @property
    def num_kept(self) -> int:
        return int(torch.isfinite(self.logits).sum())


def stages(logits: Tensor, params: SamplingParams, token_ids: Sequence[int] = ()) -> list[Stage]:
    """The chain over logits of shape [vocab]; the first stage is the model's own, the last is drawn from.

    `token_ids` are prompt and output so far: the repetition penalty needs them. Greedy has no cuts: it
    takes the best of what bias and penalty leave, as transformers does.
    """
    chain = [Stage("model", logits.float())]
    processors = _processors(params, logits.numel())
    context = torch.tensor([list(token_ids) if processors else []], dtype=torch.long)
    for name, processor in processors:
        chain.append(Stage(name, processor(context, chain[-1].logits[None])[0]))
    return chain


def sample(logits: Tensor, params: SamplingParams, rng: torch.Generator, token_ids: Sequence[int] = ()) -> int:
    """Pick a token id from logits of shape [vocab]."""
    return draw(stages(logits, params, token_ids)[-1], params, rng)


def draw(last: Stage, params: SamplingParams, rng: torch.Generator) -> int:
    if params.is_greedy:
        return int(last.logits.argmax())
    return int(torch.multinomial(last.probabilities, 1, generator=rng))


def step_rng(seed: int, index: int) -> torch.Generator:
    """A generator for one step, so that a rewound run draws again what it drew before."""
    state = np.random.SeedSequence([seed, index]).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(state >> np.uint64(1)))


def _processors(params: SamplingParams, vocab_size: int) -> list[tuple[str, Any]]:
    """Those whose setting changes anything, in the order they run."""
    processors: dict[str, Any] = {}
    if params.logit_bias:
        params.check_vocabulary(vocab_size)
        bias = {(token_id,): float(value) for token_id, value in params.logit_bias.items()}
        processors["logit bias"] = SequenceBiasLogitsProcessor(bias)
    if params.repetition_penalty != 1:
        processors["repetition penalty"] = RepetitionPenaltyLogitsProcessor(float(params.repetition_penalty))
    if not params.is_greedy:
        if params.temperature != 1:
            processors["temperature"] = TemperatureLogitsWarper(float(params.temperature))
        if params.top_k:
            processors["top-k"] = TopKLogitsWarper(params.top_k)
        if params.top_p < 1:
            processors["top-p"] = TopPLogitsWarper(float(params.top_p))
        if params.min_p:
            processors["min-p"] = MinPLogitsWarper(float(params.min_p))
    return [(name, processors[name]) for name in params.order if name in processors]
