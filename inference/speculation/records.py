"""Speculative decoding: what is asked for, and what each round drafted, accepted and cost. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Literal

from inference.speculation.acceptance import expected_tokens
from inference.speculation.draft import LOOK_UP
from inference.trace import StopReason

NUM_DRAFTED, MOST_DRAFTED = 8, 24  # tokens a round
Last = Literal["correction", "bonus", "alone", "none"]


@dataclass(frozen=True, slots=True)
class SpeculationRequest:
    prompt: str
    chat_template: bool = True
    """Where the model has one."""
    max_new_tokens: int = 64
    temperature: float = 0.0
    seed: int = 0
    num_drafted: int = NUM_DRAFTED
    """Tokens drafted in a round at most."""
    draft: str = LOOK_UP
    """Or the smaller model's name."""


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the model over its newest token and the drafted ones, measured."""

    drafted: tuple[int, ...]
    num_accepted: int
    """Of the drafted tokens, from the first on; an accepted end token is the last that counts."""
    token_id: int | None
    """What the model itself adds: its correction of the first wrong draft, or one more token where all were
    right. None where an accepted end token ended the run."""
    draft_s: float
    forward_s: float
    verify_s: float
    """To decide on the drafts, choose the token and crop the cache."""

    @property
    def token_ids(self) -> tuple[int, ...]:
        """What the round adds to the text."""
        added = () if self.token_id is None else (self.token_id,)
        return (*self.drafted[: self.num_accepted], *added)

    @property
    def num_fed(self) -> int:
        return len(self.drafted) + 1

    @property
    def num_tested(self) -> int:
        """Drafts the model decided on: those behind the first wrong one were drafted for nothing."""
        return self.num_accepted + (self.last == "correction")

    @property
    def last(self) -> Last:
        if self.token_id is None:
            return "none"
        if not self.drafted:
            return "alone"
        return "correction" if self.num_accepted < len(self.drafted) else "bonus"

    @property
    def total_s(self) -> float:
        return self.draft_s + self.forward_s + self.verify_s


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same text once more, both ways in turn: after each round, plain decoding catches up."""

    rounds: tuple[Round, ...]
    plain_s: tuple[float, ...]
    """Of each plain decode step: its forward pass and the choice of its token."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """What speculation decoded; prefill's token stands before it."""
        return tuple(token_id for round_ in self.rounds for token_id in round_.token_ids)

    @property
    def token_s(self) -> float:
        """Seconds per token with speculation."""
        return sum(round_.total_s for round_ in self.rounds) / len(self.tokens)

    @property
    def gain(self) -> float:
        """Times as fast as plain decoding, by the time per token. Prefill is the same in both and left out."""
        return mean(self.plain_s) / self.token_s


@dataclass(frozen=True, slots=True)
class Parting:
    """Where speculation wrote another token than plain greedy decoding."""

    place: int
    """Tokens of the answer before it."""
    margin: float
    """Between the two best logits of the plain step."""


# Largest difference that rounding makes between the logits of one token fed alone and among others
ROUNDING = {"float32": 1e-3, "float16": 0.1, "bfloat16": 1.0}


@dataclass(frozen=True, slots=True)
class Speculated:
    """One request decoded with speculation and without, several times."""

    request: SpeculationRequest
    dtype: str
    num_prompt: int
    first_id: int
    """The token that prefill yields, before any round."""
    repeats: tuple[Repeat, ...]
    text: str
    """Of the first repeat; the others write the same."""
    plain_ids: tuple[int, ...]
    """Plain decoding's answer, first token included."""
    logit_difference: float
    """The largest between a position verified among others and the same position decoded alone; 0 if sampled."""
    parting: Parting | None
    ending: StopReason | None
    """None while the first repeat runs."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self.repeats[0].rounds

    @property
    def token_ids(self) -> tuple[int, ...]:
        return (self.first_id, *self.repeats[0].tokens)

    @property
    def is_tie(self) -> bool:
        """Whether the two tokens where the texts part are as good as equal: rounding chose between them."""
        return self.parting is not None and self.parting.margin <= ROUNDING[self.dtype]

    @property
    def tokens_per_pass(self) -> float:
        return len(self.repeats[0].tokens) / len(self.rounds)

    @property
    def acceptance(self) -> float:
        """Accepted drafts over those the model decided on: the chance that the formula asks for."""
        tested = sum(round_.num_tested for round_ in self.rounds)
        return sum(round_.num_accepted for round_ in self.rounds) / tested if tested else 0.0

    @property
    def share_accepted(self) -> float:
        """Accepted drafts over all that were drafted."""
        drafted = sum(len(round_.drafted) for round_ in self.rounds)
        return sum(round_.num_accepted for round_ in self.rounds) / drafted if drafted else 0.0

    @property
    def expected_tokens(self) -> float:
        """Per pass, by the formula at the measured acceptance, with as many drafts as each round had."""
        return mean(expected_tokens(self.acceptance, len(round_.drafted)) for round_ in self.rounds)

    @property
    def gains(self) -> tuple[float, ...]:
        return tuple(repeat.gain for repeat in self.repeats if repeat.rounds and repeat.plain_s)

    @property
    def gain(self) -> float:
        """Of the repeats, the one in the middle."""
        return median(self.gains)

    @property
    def draft_cost(self) -> float:
        """Time to draft one token over that of a plain decode step: c of the theorem."""
        drafted = [round_ for repeat in self.repeats for round_ in repeat.rounds if round_.drafted]
        if not drafted:
            return 0.0
        each_s = sum(round_.draft_s for round_ in drafted) / sum(len(round_.drafted) for round_ in drafted)
        return each_s / median(pass_times([self])[1])

    @property
    def pass_cost(self) -> float:
        """Time of the rounds' passes, on average, over that of a plain decode step."""
        passes = [round_.forward_s + round_.verify_s for repeat in self.repeats for round_ in repeat.rounds]
        return mean(passes) / mean(time_s for repeat in self.repeats for time_s in repeat.plain_s)


def pass_times(runs: Sequence[Speculated]) -> dict[int, list[float]]:
    """Measured seconds of every pass, by the number of tokens fed; plain decode steps feed one."""
    times_s: dict[int, list[float]] = {}
    for repeat in (repeat for run in runs for repeat in run.repeats):
        times_s.setdefault(1, []).extend(repeat.plain_s)
        for round_ in repeat.rounds:
            times_s.setdefault(round_.num_fed, []).append(round_.forward_s + round_.verify_s)
    return dict(sorted(times_s.items()))
