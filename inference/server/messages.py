"""What the pages' process and the engine's say to each other, and the line it goes over.

Both are this program, and what they send is pickled, functions by value. A few things are not sent but named: the
live generation of a run, and the model's vocabulary, which the other side has too.
"""

import io
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import cloudpickle

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.jobs.experiments import Job, Report
from inference.run.recipe import Recipe
from inference.run.tokens import KnownTokens
from inference.server.status import ModelStatus
from inference.trace import Step, Trace

if TYPE_CHECKING:
    from array import array

    from inference.jobs.kept import Kept
    from inference.jobs.limits import Limits
    from inference.server.laboratory import Laboratory
    from inference.server.owned import Release


@dataclass(frozen=True, slots=True)
class Call:
    """To the engine, carried out in the order in which they come; an answer follows under the same number."""

    number: int
    do: "Callable[[Laboratory], Future[Any] | object]"
    run: str = ""
    """The name of the run that it is about; news of that run come with the answer."""


@dataclass(frozen=True, slots=True)
class Begin:
    """To the engine: look at what a job asks for. An answer says that it can begin, or why not."""

    number: int
    job: Job[Any]


@dataclass(frozen=True, slots=True)
class Go:
    """To the engine: run what has begun under this number. Reports follow, and one more answer."""

    number: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """To the engine: nobody waits for this number any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Restore:
    """To the engine: a run that it does not hold, to be gone on with from its token ids."""

    learner: str
    name: str
    recipe: Recipe
    trace: Trace
    branches: list[Trace]
    is_aside: bool


@dataclass(frozen=True, slots=True)
class RunNews:
    """A run as a job left it, without the part that the pages' process has already."""

    name: str
    recipe: Recipe
    head: Trace
    """Without steps and norms."""
    num_kept_steps: int
    steps: list[Step]
    """The others."""
    num_kept_norms: int
    norms: "list[array[float]]"
    branches: list[Trace] | None
    """None if they are as before."""
    released: "Release"


@dataclass(frozen=True, slots=True)
class Reply:
    number: int
    value: object = None
    error: BaseException | None = None
    news: RunNews | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """How far what runs under a number is."""

    number: int
    report: Report[Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """To the pages, once: what they need to know of the model."""

    name: str
    revision: str
    note: str
    spec: ModelSpec
    is_chat_model: bool
    is_on_cpu: bool
    token_bytes: KnownTokens
    limits: "Limits"
    kept: "Kept"


@dataclass(frozen=True, slots=True)
class Pulse:
    """To the pages, whenever it has changed, and else as a sign of life."""

    status: ModelStatus
    ceilings: Ceilings | None = None
    ceilings_fraction: float | None = None
    ceilings_problem: str = ""
    ceilings_beaten_by: float = 0.0
    in_hand: tuple[int, ...] = ()
    """Numbers of the calls whose job has begun."""
    stuck_s: int = 0
    """How long the job in hand has taken without using a processor."""


class RunLostError(RuntimeError):
    """The engine does not hold the run that a call is about."""


ToEngine = Call | Restore | Begin | Go | Cancel
ToPages = Reply | Told | Loaded | Pulse
VOCABULARY = "vocabulary"
"""Stands for the model's own, of which the pages have a copy."""
NameOf = Callable[[Any], object]
Named = Callable[[Any], object]


class Wire:
    """One end. Any thread may send; one receives. EOFError and OSError: the other side is gone."""

    def __init__(self, connection: Connection, *, name_of: NameOf, named: Named) -> None:
        self._connection, self._name_of, self._named = connection, name_of, named
        self._sending = threading.Lock()

    def send(self, message: ToEngine | ToPages) -> None:
        packed = io.BytesIO()
        pickler = cloudpickle.Pickler(packed)
        pickler.persistent_id = self._name_of
        pickler.dump(message)
        with self._sending:
            self._connection.send_bytes(packed.getbuffer())

    def has_news(self, timeout_s: float) -> bool:
        return self._connection.poll(timeout_s)

    def receive(self) -> Any:
        unpickler = pickle.Unpickler(io.BytesIO(self._connection.recv_bytes()))
        unpickler.persistent_load = self._named  # type: ignore[method-assign]
        return unpickler.load()

    def close(self) -> None:
        self._connection.close()
