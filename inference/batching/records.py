"""The same requests in static groups and continuously: what is asked, what each pass did, what it adds up to.

Arrivals are counted in passes, so a schedule is the same on every machine. The clock counts the seconds of the
passes alone: what other learners' passes take in between, and time in which nothing is to be done, is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from inference.trace import Phase

PAGE = 16
"""Tokens in a cache block, as in vLLM's default."""
MOST_REQUESTS, MOST_SLOTS, MOST_TOKENS_PER_PASS = 200, 32, 2048


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request: when it comes, and how long it is."""

    before_pass: int
    """It is there when pass `before_pass` (from 0) starts; where nothing runs by then, the pass starts for it."""
    prompt_tokens: int
    output_tokens: int
    """Generated exactly: end tokens are passed over, as benchmarks do."""


@dataclass(frozen=True, slots=True)
class ServingPlan:
    """Requests and the rules they are served by."""

    name: str
    arrivals: tuple[Arrival, ...]
    slots: int
    """Requests at once."""
    tokens_per_pass: int
    """A prompt that does not fit beside the decodes is prefilled in chunks over several passes."""
    is_static: bool = False
    """Whether the next group comes in only when the whole last one has finished."""

    @property
    def num_blocks(self) -> int:
        """Cache blocks that are enough whichever requests meet: the longest `slots` of them, whole."""
        return sum(sorted((_blocks(arrival) for arrival in self.arrivals), reverse=True)[: self.slots])

    def __post_init__(self) -> None:
        if not 1 <= len(self.arrivals) <= MOST_REQUESTS:
            raise ValueError(f"The list must hold 1 to {MOST_REQUESTS} requests, it holds {len(self.arrivals):,}.")
        if not 1 <= self.slots <= MOST_SLOTS:
            raise ValueError(f"Requests at once must be 1 to {MOST_SLOTS}, got {self.slots}.")
        if not self.slots <= self.tokens_per_pass <= MOST_TOKENS_PER_PASS:
            raise ValueError(
                f"Tokens per pass must be {self.slots} (a decode for each request at once) to "
                f"{MOST_TOKENS_PER_PASS:,}, got {self.tokens_per_pass}."
            )
        for number, arrival in enumerate(self.arrivals, 1):
            if arrival.before_pass < 0:
                raise ValueError(
                    f"Request {number} arrives {-arrival.before_pass} passes in the past; "
                    "the first pass is number 0."
                )
            if arrival.prompt_tokens < 1 or arrival.output_tokens < 1:
                raise ValueError(
                    f"Request {number} has {arrival.prompt_tokens} prompt and {arrival.output_tokens} output "
                    "tokens; it needs at least one of each."
                )


@dataclass(frozen=True, slots=True)
class Share:
    """One request's part of a pass."""

    request: int
    """Its place in the plan, from 0."""
    phase: Phase
    num_tokens: int
    """Fed in this pass."""
    token_id: int | None
    """Sampled from it; None while the prompt goes on in a later pass."""


@dataclass(frozen=True, slots=True)
class BatchPass:
    """One forward pass over everything that was scheduled together, measured."""

    number: int
    """Numbers are left out where nothing was to be done until the next arrival."""
    seconds: float
    """Host time from scheduling to the sampled tokens."""
    blocks: int
    """Cache blocks in use during the pass."""
    shares: tuple[Share, ...]

    def tokens(self, phase: Phase) -> int:
        """Fed by the shares of one phase."""
        return sum(share.num_tokens for share in self.shares if share.phase == phase)


@dataclass(frozen=True, slots=True)
class ServedPlan:
    """A plan as it was carried out, pass by pass; still growing while it runs."""

    plan: ServingPlan
    passes: tuple[BatchPass, ...] = ()

    @property
    def ends_s(self) -> tuple[float, ...]:
        """When each pass ended."""
        return tuple(accumulate(batch_pass.seconds for batch_pass in self.passes))

    @property
    def total_s(self) -> float:
        return sum(batch_pass.seconds for batch_pass in self.passes)

    @property
    def useful_slots(self) -> int:
        """A slot is one request's place in one pass; useful if a request was in it."""
        return sum(len(batch_pass.shares) for batch_pass in self.passes)

    @property
    def offered_slots(self) -> int:
        return self.plan.slots * len(self.passes)

    @property
    def idle_slots(self) -> int:
        return self.offered_slots - self.useful_slots

    @property
    def num_tokens(self) -> int:
        """Generated so far."""
        return sum(share.token_id is not None for batch_pass in self.passes for share in batch_pass.shares)

    @property
    def tokens_per_s(self) -> float:
        return self.num_tokens / self.total_s if self.passes else 0.0

    @property
    def is_done(self) -> bool:
        return self.num_tokens == sum(arrival.output_tokens for arrival in self.plan.arrivals)


@dataclass(frozen=True, slots=True)
class BatchingComparison:
    """Plans that took turns, a pass of each, so that a slow moment of the machine meets all of them."""

    arms: tuple[ServedPlan, ...]

    @property
    def is_done(self) -> bool:
        return all(arm.is_done for arm in self.arms)


def static_slots(outputs: Sequence[int], slots: int) -> tuple[int, int]:
    """Slots that are useful and slots in all when groups of `slots` wait for their longest output.

    For requests that are all there at the start and whose prompts fit into one pass.
    """
    groups = [outputs[start : start + slots] for start in range(0, len(outputs), slots)]
    return sum(outputs), sum(slots * max(group) for group in groups)


def _blocks(arrival: Arrival) -> int:
    """That its keys and values fill in the end; its last token is never fed."""
    return -(-(arrival.prompt_tokens + arrival.output_tokens - 1) // PAGE)
