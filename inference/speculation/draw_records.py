"""One token decided many times over: what was counted, beside what was expected."""

from dataclasses import dataclass

from inference.sampling_lab.records import ChiSquare
from inference.speculation.records import SpeculationRequest


@dataclass(frozen=True, slots=True)
class Bin:
    """A token, or all those together that are expected too seldom."""

    token_id: int | None
    num_tokens: int
    count: int
    expected: float
    """Under the model's own distribution."""


@dataclass(frozen=True, slots=True)
class SampledDraws:
    request: SpeculationRequest
    context: str
    """The end of the text behind which the token stands."""
    drafted_id: int | None
    """None where the draft itself draws, another token each time."""
    num_draws: int
    num_accepted: int
    expected_acceptance: float
    """The sum of min(p, q) over the vocabulary."""
    is_mistaken: bool
    """True if rejected drafts were replaced from p, not from what the draft left over."""
    bins: tuple[Bin, ...]
    test: ChiSquare | None
    """None where nearly all the chance is one token's."""
