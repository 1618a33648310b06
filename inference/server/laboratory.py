"""What the engine's process has: the model as it loads, its worker, the learners' runs and the machine's roofs."""

import atexit
import gc
import logging
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from inference.arithmetic.roofline import Ceilings
from inference.jobs.drive import Drive
from inference.jobs.experiments import Experiments, beginning
from inference.jobs.worker import Worker
from inference.machine.roof_watch import BEATEN, RoofWatch, higher
from inference.server.status import ModelStatus
from inference.weights import WeightsError

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits
    from inference.server.runs import Runs

log = logging.getLogger(__name__)
T = TypeVar("T")


class Laboratory:
    """One per process. `start` returns at once; pages read `status` and use `runs` when it is ready."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.status = ModelStatus("loading", "Starting", started_s=time.monotonic())
        self.worker = Worker()
        atexit.register(self.worker.stop)  # a thread inside torch when Python ends would abort the process
        self.engine: Engine | None = None
        self.runs: Runs | None = None
        self.limits: Limits | None = None
        self.experiments: Experiments | None = None
        self.ceilings: Ceilings | None = None
        self.ceilings_fraction: float | None = None
        """How much of measuring the roofs is done; None when nothing is being measured."""
        self.ceilings_problem = ""
        self._watch = RoofWatch(time.monotonic())

    def start(self) -> None:
        """Load in the background, once; what failed stays failed until somebody asks to `retry`."""
        with self._starting:
            if self._thread is not None:
                return
            self.status = ModelStatus("loading", "Starting", started_s=time.monotonic())
            self._thread = threading.Thread(target=self._load, name="model loader", daemon=True)
            self._thread.start()

    def retry(self) -> None:
        """Load again after a failure."""
        with self._starting:
            if self.status.state != "failed":
                return
            self._thread = None
        self.start()

    def with_engine(self, do: "Callable[[Engine], T]") -> T:
        """What something quick, such as tokenising, gives with the engine. No pass: that is for the worker."""
        assert self.engine is not None, "only when it is ready"
        return do(self.engine)

    def position(self, future: "Future[Any]") -> int:
        """How many passes are ahead of this one; 0 when it is next, running or done."""
        return self.worker.position(future)

    @property
    def num_waiting(self) -> int:
        return self.worker.num_waiting

    def stop(self) -> None:
        """Finish the pass in hand, cancel the others."""
        self.worker.stop()

    @property
    def is_away(self) -> bool:
        """Whether what was there once is not there now: never, in a process of one's own."""
        return False

    @property
    def is_settling(self) -> bool:
        """Whether there will soon be something new to say: the model loads, or the roofs are being measured."""
        return self.status.state == "loading" or self.ceilings_fraction is not None

    def wait(self, timeout_s: float) -> ModelStatus:
        """Block until loading has ended, for tests and benchmarks."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self.status

    @property
    def ceilings_beaten_by(self) -> float:
        """How much faster than the roofs allow a pass was, as a share; 0 if none was by enough to matter."""
        return self._watch.highest_share - 1 if self._watch.highest_share >= BEATEN else 0.0

    def doubt_ceilings(self, share: float = 0.0) -> "Future[Ceilings] | None":
        """Measure the roofs again in the background if there is a reason, such as a pass at this share of them."""
        if self.ceilings is None or not self._watch.is_due(self.ceilings, share, time.monotonic()):
            return None
        return self.measure_ceilings(keep=self.ceilings)

    def measure_ceilings(self, keep: Ceilings | None = None) -> "Future[Ceilings] | None":
        """Measure this machine's roofs again, between the learners' passes; what was higher in `keep` stays."""
        from inference.machine.ceilings import measure, remember  # noqa: PLC0415  # torch must not hold up the first page

        engine = self.engine
        if engine is None or self.ceilings_fraction is not None:
            return None
        self.ceilings_fraction, self.ceilings_problem = 0.0, ""
        drive = Drive(measure(engine))

        def report() -> Generator[None, None, Ceilings]:
            try:
                for fraction in drive:
                    self.ceilings_fraction = fraction
                    yield
                ceilings = drive.result
                if keep is not None:
                    ceilings = higher(keep, ceilings)
                    remember(engine, ceilings)
                self.ceilings = ceilings
                return ceilings
            except (RuntimeError, MemoryError) as error:
                self.ceilings_problem = f"This machine's roofs could not be measured: {error}"
                log.error("%s", self.ceilings_problem)
                raise
            finally:
                self._watch.ended(time.monotonic())
                self.ceilings_fraction = None

        return self.worker.submit_background(report())

    def _load(self) -> None:
        from inference.engine import Engine  # noqa: PLC0415  # the first page must not wait for it
        from inference.jobs.kept import Kept  # noqa: PLC0415
        from inference.jobs.limits import Limits  # noqa: PLC0415
        from inference.machine.ceilings import remembered  # noqa: PLC0415  # torch takes seconds to import:
        from inference.server.runs import Runs  # noqa: PLC0415

        try:
            self.limits = Limits()
            engine = Engine.load(self._model, progress=self._report)
            self._report("Warming up: the first passes are not shown", None)
            engine.warm_up()
            self.ceilings = remembered(engine)
        except (WeightsError, ValueError, RuntimeError, MemoryError) as error:
            self._fail(str(error))
            return
        except BaseException as error:  # whatever it was, the page must not say "loading" for ever
            self._fail(f"The model could not be loaded ({type(error).__name__}); the server's log says more")
            raise
        self.runs = Runs(engine, self.worker, self.limits)
        self.experiments = Experiments(beginning(engine, self.limits), self.worker, Kept.of(engine))
        self.engine = engine
        gc.collect()
        gc.freeze()  # each page run would otherwise walk torch's half million objects
        self.status = replace(self.status, state="ready", sentence=f"{engine.name} is ready", fraction=None)
        log.info("%s is ready after %.1f s. %s", engine.name, self.status.elapsed_s, engine.note)
        if self.ceilings is None:
            self.measure_ceilings()

    def _fail(self, sentence: str) -> None:
        log.error("%s", sentence)
        sentence = sentence[:1].upper() + sentence[1:]
        self.status = replace(self.status, state="failed", sentence=sentence, fraction=None)

    def _report(self, sentence: str, fraction: float | None) -> None:
        part_s = self.status.part_started_s
        if sentence != self.status.sentence:
            log.info("%s", sentence)
            part_s = time.monotonic()
        self.status = replace(self.status, sentence=sentence, fraction=fraction, part_started_s=part_s)
