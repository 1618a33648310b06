"""Looks at a next token's logits through the chain: every stage, and temperature first against last."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from inference.run.params import SamplingParams
from inference.sampling import Stage, draw, stages, step_rng
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import (
    EXAMPLE_LOGITS,
    EXAMPLE_PARAMS,
    MODEL,
    NUM_TOP,
    TOP_TEN,
    ChainView,
    OrderView,
    StageView,
    TokenShare,
)

_NUM_RANKS = 300
_NUM_ONLY = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """The model's own distribution, sorted once. Tensors of [vocab]."""

    next_token: NextToken
    probabilities: Tensor
    order: Tensor
    """Token ids, most probable first."""
    rank: Tensor
    """Per token id, its place in that order, from 0."""

    @classmethod
    def of(cls, next_token: NextToken) -> "_Model":
        order = next_token.logits.argsort(descending=True, stable=True)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order))
        return cls(next_token, softmax(next_token.logits), order, rank)

    def shares(self, token_ids: Sequence[int], probabilities: Tensor, is_kept: Tensor) -> tuple[TokenShare, ...]:
        at = torch.tensor(token_ids, dtype=torch.long)
        numbers = (self.rank + 1, self.probabilities, probabilities, is_kept)
        columns = zip(token_ids, *(values[at].tolist() for values in numbers), strict=True)
        return tuple(
            TokenShare(token_id, self.next_token.vocabulary[token_id], *rest) for token_id, *rest in columns
        )

    def view(self, name: str, logits: Tensor, ranks: Tensor) -> StageView:
        probabilities, is_kept = softmax(logits), torch.isfinite(logits)
        mass = float(self.probabilities[is_kept].sum()) if not is_kept.all() else 1.0
        by_stage_then_model = torch.where(is_kept, probabilities, self.probabilities - 1)
        best = by_stage_then_model.topk(min(NUM_TOP, len(logits))).indices.tolist()
        return StageView(
            name=name,
            is_on=True,
            num_kept=int(is_kept.sum()),
            kept_mass=min(mass, 1.0),
            entropy_bits=entropy_bits(probabilities),
            top=self.shares(best, probabilities, is_kept),
            curve=tuple(probabilities[self.order[ranks]].tolist()),
        )


def entropy_bits(probabilities: Tensor) -> float:
    """0 is certain; log2 of the vocabulary is no idea. Tokens of probability 0 add nothing."""
    return float(torch.special.entr(probabilities.double()).sum()) / float(np.log(2))


def chain_view(next_token: NextToken, params: SamplingParams) -> ChainView:
    """Every stage; raises ValueError for a bias outside the vocabulary."""
    model, chain = _Model.of(next_token), after_each(next_token, params)
    ranks = _ranks(model, chain, params)
    views = [model.view(MODEL, next_token.logits, ranks)]
    for name in params.order:
        is_on = name in chain
        views.append(model.view(name, chain[name], ranks) if is_on else replace(views[-1], name=name, is_on=False))
    last = Stage("last", last_of(next_token, chain))
    drawn = draw(last, params, step_rng(params.seed, next_token.index))
    logits_of_ten = torch.where(model.rank < NUM_TOP, next_token.logits, -torch.inf)
    (share,) = model.shares([drawn], softmax(last.logits), torch.isfinite(last.logits))
    return ChainView(
        vocab_size=len(next_token.logits),
        ranks=tuple((ranks + 1).tolist()),
        stages=tuple(views),
        top_ten=model.view(TOP_TEN, logits_of_ten, ranks),
        drawn=share,
    )


def order_view(next_token: NextToken, params: SamplingParams) -> OrderView:
    """Temperature first against temperature last."""
    model = _Model.of(next_token)
    both = [replace(params, temperature_last=is_last) for is_last in (False, True)]
    first, last = (last_of(next_token, after_each(next_token, params_of_order)) for params_of_order in both)
    kept_first, kept_last = torch.isfinite(first), torch.isfinite(last)
    return OrderView(
        first=chain_view(next_token, both[0]),
        last=chain_view(next_token, both[1]),
        num_only_first=int((kept_first & ~kept_last).sum()),
        num_only_last=int((kept_last & ~kept_first).sum()),
        only_first=_only(model, first, kept_first & ~kept_last),
        only_last=_only(model, last, kept_last & ~kept_first),
    )


def _only(model: _Model, logits: Tensor, is_only: Tensor) -> tuple[TokenShare, ...]:
    ids = model.order[is_only[model.order]][:_NUM_ONLY].tolist()
    return model.shares(ids, softmax(logits), is_only)


def worked_example() -> OrderView:
    """A vocabulary of a few letters, to follow by hand."""
    letters = {place: bytes([ord("A") + place]) for place in range(len(EXAMPLE_LOGITS))}
    return order_view(NextToken(torch.tensor(EXAMPLE_LOGITS), (), letters), EXAMPLE_PARAMS)


def softmax(logits: Tensor) -> Tensor:
    return torch.softmax(logits, -1, dtype=torch.float64)


def after_each(next_token: NextToken, params: SamplingParams) -> dict[str, Tensor]:
    """Logits after each stage that is on. Greedy is what temperature tends to at 0: it keeps the best token."""
    chain = {stage.name: stage.logits for stage in stages(next_token.logits, params, next_token.token_ids)[1:]}
    if params.is_greedy:
        left = last_of(next_token, chain)
        chain["temperature"] = torch.full_like(left, -torch.inf).index_fill_(0, left.argmax(), 0.0)
    return chain


def last_of(next_token: NextToken, chain: dict[str, Tensor]) -> Tensor:
    return [next_token.logits, *chain.values()][-1]


def _ranks(model: _Model, chain: dict[str, Tensor], params: SamplingParams) -> Tensor:
    """Where the curves are drawn, from 0: spread evenly over the log axis, and each cut's two sides, and biases."""
    size = len(model.order)
    ranks = [torch.tensor(np.geomspace(1, size, _NUM_RANKS).round().astype(int) - 1)]
    for logits in chain.values():
        end = model.rank[torch.isfinite(logits)].max()
        ranks.append(torch.stack([end, end + 1]).clamp(max=size - 1))
    ranks.append(model.rank[torch.tensor(list(params.logit_bias or {}), dtype=torch.long)])
    return torch.from_numpy(np.unique(torch.cat(ranks).numpy()))
