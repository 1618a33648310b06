"""Structured output: what a constraint is and what was measured while it was kept."""

from dataclasses import dataclass
from typing import Literal

from inference.run.recipe import Recipe
from inference.trace import Phase

Kind = Literal["JSON schema", "regular expression", "choices"]
Ending = Literal["constraint met", "end token", "maximum", "context full"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the whole output must be. The text is a learner's own: checked before it is used."""

    kind: Kind
    source: str
    """A JSON schema; a regular expression for the whole output; or one choice per line."""


def choices(source: str) -> list[str]:
    """One per line; empty lines are left out."""
    return list(dict.fromkeys(line.strip() for line in source.splitlines() if line.strip()))


@dataclass(frozen=True, slots=True)
class StructuredRequest:
    constraint: Constraint
    recipe: Recipe
    is_masked: bool = True
    """False: the model writes freely, and the constraint only judges the text."""


@dataclass(frozen=True, slots=True)
class TokenOption:
    """A token that could come next, without the mask and with it."""

    token_id: int
    raw: bytes
    probability: float
    """The model's own, over the full vocabulary."""
    masked_probability: float
    """Among the allowed tokens alone, before temperature and cuts; 0 if the mask forbids it."""
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class StructuredStep:
    """One forward pass, measured, and the token that the mask left to be chosen."""

    index: int
    phase: Phase
    token_id: int
    raw: bytes
    unmasked_id: int
    """What the same settings and random numbers would have chosen here without the mask."""
    feasible_mass: float
    """The probability that the model itself gave to the allowed tokens, 0 to 1."""
    num_allowed: int
    raw_top: tuple[TokenOption, ...]
    """The most probable tokens without the mask."""
    masked_top: tuple[TokenOption, ...]
    """The most probable of the allowed ones, and the chosen one whatever its place."""
    mask_s: float
    """To compute the mask, lay it over the logits, and move on by the chosen token."""
    forward_s: float

    @property
    def is_overridden(self) -> bool:
        """Whether the mask forbade the token that the model found most probable."""
        return not self.raw_top[0].is_allowed

    @property
    def is_changed(self) -> bool:
        """Whether another token was chosen than without the mask."""
        return self.token_id != self.unmasked_id

    @property
    def is_forced(self) -> bool:
        """Whether the mask left one token: an engine may write it without asking the model."""
        return self.num_allowed == 1


@dataclass(frozen=True, slots=True)
class StructuredRun:
    """The output and how it came about."""

    text: str
    steps: tuple[StructuredStep, ...]
    is_complete: bool
    """The constraint is met by the text as it stands; False while it grows and if it was cut off."""
    is_valid: bool | None
    """What another program than the one that made the mask says of the text; None if that was not found out."""
    ending: Ending | None
    """None while it runs."""
    compile_s: float
    """To turn the constraint into a grammar, once."""
    request: StructuredRequest
