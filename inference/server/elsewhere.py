"""The laboratory as the pages have it: the engine is in a process of its own, watched and started again."""

import atexit
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from inference.arithmetic.roofline import Ceilings
from inference.jobs.experiments import Experiments
from inference.jobs.worker import Worker
from inference.machine.roof_watch import BEATEN, widest
from inference.server.calls import Calls, EngineLostError
from inference.server.messages import VOCABULARY, Loaded, Pulse, Reply, RunLostError, ToEngine, Told, ToPages
from inference.server.process import EngineProcess
from inference.server.runs_elsewhere import RunsElsewhere, name_of
from inference.server.status import ModelStatus
from inference.server.work_elsewhere import Works

if TYPE_CHECKING:
    from inference.engine import Engine

log = logging.getLogger(__name__)
T = TypeVar("T")
SILENCE_S = 2.0
"""A process that says nothing for this long is said not to answer."""
HANG_S = 30.0
"""And after this long, or with a pass that takes so long without using a processor, it is ended."""
MOST_LOSSES, LOSS_WINDOW_S = 3, 120.0
"""A process that ends so often is not started again before somebody asks."""
_LOOK_S = 0.25
_GRACE_S = 10.0


class LaboratoryElsewhere:
    """The face of `Laboratory`: `start` returns at once, pages read `status` and use `runs` when it is ready."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process: EngineProcess | None = None
        self._is_stopped = False
        self._losses: list[float] = []
        self._problem = ""
        self._heard_s = 0.0
        self._pulse = Pulse(ModelStatus("loading", "Starting", started_s=time.monotonic()))
        self._calls = Calls(self._send)
        self._works = Works(self._calls, self._send, self._refuse_if_away)
        self._background = Worker()
        self._is_loaded = False
        self._ceilings: Ceilings | None = None  # of this machine, whichever process measured them
        self.engine: Loaded | None = None
        self.runs: RunsElsewhere | None = None
        self.experiments: Experiments | None = None
        atexit.register(self.stop)

    def start(self) -> None:
        """Load in the background, once; what failed stays failed until somebody asks to `retry`."""
        with self._starting:
            if self._thread is not None or self._is_stopped:
                return
            self._thread = threading.Thread(target=self._live, name="engine", daemon=True)
            self._thread.start()

    def retry(self) -> None:
        """Start a new process after a failure."""
        if self.status.state != "failed":
            return
        self._hang_up()
        self._losses.clear()
        self._problem, self._pulse = "", Pulse(ModelStatus("loading", "Starting", started_s=time.monotonic()))
        self.start()

    def stop(self) -> None:
        """End the process, and cancel what waits for it."""
        self._is_stopped = True
        self._hang_up()
        self._background.stop()
        self._calls.stopped()

    def wait(self, timeout_s: float) -> ModelStatus:
        """Block until loading has ended, for tests and benchmarks."""
        until_s = time.monotonic() + timeout_s
        while self.status.state == "loading" and time.monotonic() < until_s:
            time.sleep(_LOOK_S / 10)
        return self.status

    @property
    def status(self) -> ModelStatus:
        status, silent_s = self._pulse.status, time.monotonic() - self._heard_s
        if self._is_loaded and silent_s > SILENCE_S:
            return replace(status, state="loading", sentence=f"The engine has not answered for {silent_s:.0f} s")
        if self._problem and status.state == "loading":
            return replace(status, sentence=f"{self._problem}; it is started again. {status.sentence}".strip())
        return status

    @property
    def pid(self) -> int | None:
        """The process that has the model; None while there is none."""
        return self._process.pid if self._process else None

    @property
    def ceilings(self) -> Ceilings | None:
        return self._pulse.ceilings or self._ceilings

    @property
    def ceilings_fraction(self) -> float | None:
        return self._pulse.ceilings_fraction

    @property
    def ceilings_problem(self) -> str:
        return self._pulse.ceilings_problem

    @property
    def ceilings_beaten_by(self) -> float:
        return self._pulse.ceilings_beaten_by

    @property
    def is_away(self) -> bool:
        """Whether the engine, once there, is not there now."""
        return self.engine is not None and self.status.state != "ready"

    @property
    def is_settling(self) -> bool:
        return self.status.state == "loading" or self.ceilings_fraction is not None

    def doubt_ceilings(self, share: float = 0.0) -> None:
        if self.ceilings is not None and (share >= BEATEN or widest(self.ceilings)):
            self._calls.tell(lambda laboratory: _nothing(laboratory.doubt_ceilings(share)))

    def measure_ceilings(self) -> None:
        if self._is_loaded:
            self._pulse = replace(self._pulse, ceilings_fraction=self.ceilings_fraction or 0.0)  # seen at once
            self._calls.tell(lambda laboratory: _nothing(laboratory.measure_ceilings()))

    def with_engine(self, do: "Callable[[Engine], T]") -> T:
        """What something quick, such as tokenising, gives with the engine."""
        self._refuse_if_away()
        result: T = self._calls.ask(lambda laboratory: laboratory.with_engine(do)).result(HANG_S)
        return result

    def position(self, future: "Future[Any]") -> int:
        return self._calls.position(future)

    @property
    def num_waiting(self) -> int:
        return self._calls.num_waiting

    def _live(self) -> None:
        """One process after another."""
        while not self._is_stopped:
            process = self._process = EngineProcess(self._model, name_of=name_of, named=self._named)
            self._heard_s = time.monotonic()
            why = self._listen(process)
            self._is_loaded = False
            ended = process.ended(_GRACE_S)
            if self._process is not process or self._is_stopped:  # it was hung up on
                return
            if not self._is_to_start_again(f"The engine {why or ended}"):
                return

    def _listen(self, process: EngineProcess) -> str:
        """Until it is gone or has to go: then why."""
        try:
            while True:
                if process.has_news(_LOOK_S):
                    self._heed(process.receive())
                    self._heard_s = time.monotonic()
                elif self._is_loaded and time.monotonic() - self._heard_s > HANG_S:
                    process.end()
                    return f"did not answer for {HANG_S:.0f} s"
                if self._pulse.stuck_s > HANG_S:
                    process.end()
                    return f"was stuck in a pass for {HANG_S:.0f} s"
        except (EOFError, OSError):
            return ""
        except Exception:  # a process that cannot be understood is started again like one that is gone
            log.exception("The engine said what cannot be understood")
            process.end()
            return "said what cannot be understood"

    def _heed(self, message: ToPages) -> None:
        match message:
            case Loaded() as engine:
                self._loaded(engine)
            case Pulse() as pulse:
                self._pulse, self._ceilings = pulse, pulse.ceilings or self._ceilings
                self._calls.in_hand(pulse.in_hand)
            case Told(number, report):
                self._works.told(number, report)
            case Reply(number, error=RunLostError()) if self.runs is not None:
                for lost in self.runs.lost(str(message.error)):
                    self._send(lost)
                self._calls.again(number)
            case Reply():
                if not self._calls.answered(message):
                    self._works.answered(message)

    def _loaded(self, engine: Loaded) -> None:
        self.engine = engine
        if self.runs is None or self.experiments is None:
            self.runs = RunsElsewhere(self._calls, engine.limits)
            self.experiments = Experiments(self._works.begin, self._background, engine.kept)
        self._is_loaded, self._problem = True, ""
        for lost in self.runs.lost():
            self._send(lost)
        self._calls.send_all()

    def _is_to_start_again(self, why: str) -> bool:
        log.error("%s", why)
        now_s = time.monotonic()
        self._losses = [lost_s for lost_s in self._losses if now_s - lost_s < LOSS_WINDOW_S] + [now_s]
        is_too_often = len(self._losses) >= MOST_LOSSES
        self._problem = why
        sentence = f"{why}, {MOST_LOSSES} times within {LOSS_WINDOW_S:.0f} s; the server's log says more"
        self._pulse = Pulse(
            ModelStatus("failed", sentence) if is_too_often else ModelStatus("loading", "", started_s=now_s)
        )
        if self.runs is not None:
            self.runs.were_released()
        self._works.lost(why)
        self._calls.lost(why)
        return not is_too_often

    def _hang_up(self) -> None:
        process, thread, self._process, self._thread = self._process, self._thread, None, None
        if process is not None:
            process.end()
        if thread is not None:
            thread.join(_GRACE_S)

    def _refuse_if_away(self) -> None:
        if not self._is_loaded:
            raise EngineLostError("the model is not there at the moment; ask again when it is")

    def _send(self, message: ToEngine) -> None:
        """What cannot be sent now is sent to the next process if somebody waits for it."""
        process = self._process
        if process is None or not self._is_loaded:
            return
        with suppress(OSError):
            process.send(message)

    def _named(self, name: object) -> object:
        assert name == VOCABULARY
        return self.engine.token_bytes if self.engine else None


def _nothing(_: object) -> None:
    """Nobody waits for it."""
