"""Many draws of one next token, counted, and tested against the distribution they should have come from."""

from collections.abc import Sequence

import torch
from torch import Tensor

from inference.run.params import SamplingParams
from inference.sampling import step_rng
from inference.sampling_lab.next_token import NextToken
from inference.sampling_lab.records import ChiSquare, Drawn, Draws
from inference.sampling_lab.views import after_each, last_of, softmax

_FEWEST_EXPECTED = 5.0  # per bin, Cochran's rule: below it the chi-square distribution does not hold


def draw_many(
    next_token: NextToken, params: SamplingParams, num_draws: int, *, is_against_model: bool = False
) -> Draws:
    """From the chain's last stage, against what that stage promises or, if asked, against the model itself."""
    probabilities = softmax(last_of(next_token, after_each(next_token, params)))
    rng = step_rng(params.seed, next_token.index)
    ids = torch.multinomial(probabilities, num_draws, replacement=True, generator=rng)
    counts = torch.bincount(ids, minlength=len(probabilities))
    expected = (softmax(next_token.logits) if is_against_model else probabilities) * num_draws
    bins = _bins(next_token, counts, expected)
    is_testable = all(drawn.expected >= _FEWEST_EXPECTED for drawn in bins)
    test = chi_square([drawn.count for drawn in bins], [drawn.expected for drawn in bins]) if is_testable else None
    return Draws(num_draws, bins, test)


def chi_square(counts: Sequence[float], expected: Sequence[float]) -> ChiSquare | None:
    """Both sum to the number of draws; p is the upper tail Q(degrees / 2, statistic / 2)."""
    degrees = len(expected) - 1
    if degrees < 1:
        return None
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True))
    halves = torch.tensor([degrees / 2, statistic / 2], dtype=torch.float64)
    return ChiSquare(statistic, degrees, float(torch.special.gammaincc(halves[0], halves[1])))


def _bins(next_token: NextToken, counts: Tensor, expected: Tensor) -> tuple[Drawn, ...]:
    """A bin for every token expected often enough; the others together, with as many more as that needs."""
    order = expected.argsort(descending=True, stable=True)
    order = order[expected[order] > 0]
    num_alone = int((expected >= _FEWEST_EXPECTED).sum())
    while 1 < num_alone < len(order) and float(expected[order[num_alone:]].sum()) < _FEWEST_EXPECTED:
        num_alone -= 1
    alone, others = order[:num_alone], order[num_alone:]
    columns = zip(alone.tolist(), counts[alone].tolist(), expected[alone].tolist(), strict=True)
    bins = [Drawn(next_token.vocabulary[token_id], 1, count, mean) for token_id, count, mean in columns]
    if len(others):
        bins.append(Drawn(None, len(others), int(counts[others].sum()), float(expected[others].sum())))
    return tuple(bins)
