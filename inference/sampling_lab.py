"""The sampling lab: one next token's logits, kept once; records of what the chain's stages leave of them.

Pages import this module; torch is imported when a pass runs. What computes the records is `sampling_views` and
`sampling_draws`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from inference.experiments import Job, Report, Work
from inference.params import SamplingParams
from inference.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from inference.engine import Engine
    from inference.generation import Generation
    from inference.limits import Limits


MODEL, TOP_TEN = "model", "renormalised top-10"  # views that are no stage of the chain
NUM_TOP = 10
# The published example in which the order decides which tokens survive: transformers PR 8686, Camelid PR 534.
EXAMPLE_LOGITS = (3.0, 2.0, 1.0)
EXAMPLE_PARAMS = SamplingParams(temperature=0.5, top_p=0.8)


class Vocabulary(Protocol):
    def __getitem__(self, token_id: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, eq=False)
class NextToken:
    """What the model says of the token after a context. Pages hand it on and do not look inside."""

    logits: "Tensor"
    """[vocab], float32, on the CPU."""
    token_ids: tuple[int, ...]
    """The context."""
    vocabulary: Vocabulary
    index: int = 0
    """The step this is in its run: 0 is the token that prefill yields."""


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
    num_both: int
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


def prompt_job(prompt: str, *, chat_template: bool = False) -> Job[NextToken]:
    """One prefill of the prompt; its last position's logits."""
    recipe = Recipe(prompt, max_new_tokens=1, chat_template=chat_template)

    def begin(engine: "Engine") -> "Generation":
        from inference.generation import Generation  # noqa: PLC0415  # pages must not wait for torch

        return Generation(engine, prompt, max_new_tokens=1, chat_template=chat_template)

    def check(engine: "Engine", limits: "Limits") -> None:
        limits.check(recipe)
        limits.check_tokens(begin(engine))

    def run(engine: "Engine") -> Work[NextToken]:
        generation = begin(engine)
        generation.prefill()
        found = _held(generation, 0)
        assert found is not None
        yield Report(1.0)
        return found

    return Job(f"next token {_hash((prompt, chat_template))}", NextToken, run, check, is_kept=False)


def step_job(generation: "Generation", token_ids: Sequence[int], index: int) -> Job[NextToken]:
    """The logits that step `index` of a run was drawn from, after `token_ids`.

    The newest step's are still held; an earlier step's are computed again, in one pass over its context.
    """

    def run(engine: "Engine") -> Work[NextToken]:
        found = _held(generation, index)
        if found is None or found.token_ids != tuple(token_ids):
            logits = engine.forward(token_ids, engine.new_cache()).logits
            found = NextToken(logits, tuple(token_ids), engine.token_bytes, index)
        yield Report(1.0)
        return found

    return Job(f"next token {_hash((tuple(token_ids), index))}", NextToken, run, is_kept=False)


def _held(generation: "Generation", index: int) -> NextToken | None:
    """For the worker alone: a pass changes the run."""
    if generation.last is None or len(generation.trace.steps) != index + 1:
        return None
    context = tuple(generation.trace.token_ids[:-1])
    return NextToken(generation.last.logits, context, generation.engine.token_bytes, index)


def _hash(what: object) -> str:
    return hashlib.sha256(repr(what).encode(errors="backslashreplace")).hexdigest()[:24]


def find_token(tokenizer: Any, text: str) -> int:
    """The id of one token, from its id or its text; spaces may be typed as the screen writes them, ␣.

    ValueError says what the text is instead.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    plain = text.replace("␣", " ").replace("↵", "\n").replace("⇥", "\t")
    ids = list(tokenizer(plain, add_special_tokens=False).input_ids)
    if len(ids) != 1:
        raise ValueError(f"{text[:40]!r} is {len(ids)} tokens; a bias is for one: give one of the ids {ids[:6]}")
    return int(ids[0])
