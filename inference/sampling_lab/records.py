"""The sampling lab's records: what the chain's stages leave of the model's distribution, and counted draws.

No torch here, so that pages may import it; `sampling_views` and `sampling_draws` compute the records.
"""

from dataclasses import dataclass

from inference.run.params import SamplingParams

MODEL, TOP_TEN = "model", "renormalised top-10"  # views that are no stage of the chain
NUM_TOP = 10
# The published example in which the order decides which tokens survive: transformers PR 8686, Camelid PR 534.
EXAMPLE_LOGITS = (3.0, 2.0, 1.0)
EXAMPLE_PARAMS = SamplingParams(temperature=0.5, top_p=0.8)


@dataclass(frozen=True, slots=True)
class TokenShare:
    token_id: int
    raw: bytes
    rank: int
    """Its place in the model's own order, from 1."""
    model: float
    """The model's own probability, over the full vocabulary."""
    probability: float
    """After the stage; 0 if it or an earlier one cut the token."""
    is_kept: bool


@dataclass(frozen=True, slots=True)
class StageView:
    """The distribution after one stage, over the full vocabulary."""

    name: str
    is_on: bool
    """False where the settings skip it: the numbers are then those of the stage before."""
    num_kept: int
    kept_mass: float
    """The probability that the model itself gives to the tokens kept, 0 to 1."""
    entropy_bits: float
    top: tuple[TokenShare, ...]
    """The most probable after the stage; where it keeps fewer, then the model's best of those cut."""
    curve: tuple[float, ...]
    """The probability after the stage at each of the chain's `ranks`."""


@dataclass(frozen=True, slots=True)
class ChainView:
    vocab_size: int
    ranks: tuple[int, ...]
    """Places in the model's own order at which the curves are given: every one at first, then thinned."""
    stages: tuple[StageView, ...]
    """The model's own distribution, then every stage in the order it runs; the last one is drawn from."""
    top_ten: StageView
    """What a chart would claim that knows only the model's ten best tokens and makes them sum to 1."""
    drawn: TokenShare
    """The token that the seed draws here."""

    @property
    def last(self) -> StageView:
        return self.stages[-1]

    def stage(self, name: str) -> StageView:
        return next(stage for stage in (*self.stages, self.top_ten) if stage.name == name)


@dataclass(frozen=True, slots=True)
class OrderView:
    """The same settings with temperature before the cuts, and after them."""

    first: ChainView
    last: ChainView
    num_only_first: int
    num_only_last: int
    only_first: tuple[TokenShare, ...]
    """The model's best of the tokens that only this order keeps, with their probability under it."""
    only_last: tuple[TokenShare, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One bin: a token, or all those together that are expected less than five times."""

    raw: bytes | None
    """None for the tokens put together."""
    num_tokens: int
    count: int
    expected: float


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Pearson's test of counts against expected counts."""

    statistic: float
    degrees: int
    p: float
    """How often honest draws would miss by this much or more."""


@dataclass(frozen=True, slots=True)
class Draws:
    num_draws: int
    bins: tuple[Drawn, ...]
    """Most expected first; the tokens put together last."""
    test: ChiSquare | None
    """None without two bins expected often enough: nearly all is one token, or no token is likely."""
