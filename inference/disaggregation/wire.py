"""What the two worker processes and their parent say to each other. Pickled, between our own processes only."""

from dataclasses import dataclass
from typing import Literal

from inference.disaggregation.records import ClientRequest, StepTimes, Transfer, WorkerPass

Role = Literal["both", "prefill", "decode"]
ROLES: dict[str, tuple[Role, Role]] = {"colocated": ("both", "both"), "disaggregated": ("prefill", "decode")}
PROMPT_LENGTHS, BATCH_SIZES = (16, 64, 256), (1, 2, 4, 8)
"""What a worker times before the requests come, besides the longest prompt asked for."""


@dataclass(frozen=True, slots=True)
class Setup:
    """To a worker, once: where the model is and which processor cores are its own."""

    number: int
    """0 or 1."""
    folder: str
    num_threads: int
    cores: tuple[int, ...]
    """Empty where processes cannot be pinned."""
    prompt_lengths: tuple[int, ...]
    batch_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """To a worker: serve these requests. Times are on the monotonic clock, which all processes share."""

    role: Role
    asks: tuple[ClientRequest, ...]
    mine: tuple[int, ...]
    """Places of those it prefills, in the order they arrive."""
    num_awaited: int
    """Caches that the other process will send."""
    zero_s: float


@dataclass(frozen=True, slots=True)
class Timed:
    """From a worker: one pass of those it times before the requests come."""

    words: str


@dataclass(frozen=True, slots=True)
class Ready:
    step_times: StepTimes
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class Began:
    """From a worker: what it does next, so that its end can be told."""

    doing: str


@dataclass(frozen=True, slots=True)
class Lost:
    """From a worker: the other one is gone, as it noticed."""

    noticed: str


@dataclass(frozen=True, slots=True)
class Failed:
    problem: str


@dataclass(frozen=True, slots=True)
class Finished:
    """From a worker: all it was asked for is done."""


FromWorker = Timed | Ready | Began | WorkerPass | Transfer | Lost | Failed | Finished


def prompt_ids(place: int, num_tokens: int) -> list[int]:
    """The prompt of one request: token ids that any vocabulary has, others for each request."""
    return [(7 * (31 * place + position)) % 200 + 10 for position in range(num_tokens)]
