"""The engine's own process: the model, its worker and the KV caches, where no page disturbs a pass.

Started as `python -m inference.server.engine_process LINE [MODEL]` with an open file descriptor. It ends when the
pages' process does.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from inference.jobs.drive import Drive
from inference.jobs.experiments import MAX_RUNNING, Reports
from inference.jobs.kept import Kept
from inference.run.tokens import KnownTokens
from inference.server import messages
from inference.server.laboratory import Laboratory
from inference.server.messages import Begin, Call, Cancel, Go, Loaded, Pulse, Reply, Restore, RunLostError, Wire
from inference.server.owned import Run
from inference.server.run_news import RunTeller

PULSE_S = 0.1
SIGN_OF_LIFE_S = 0.5


class Service:
    """Does what the pages' process asks of one laboratory."""

    def __init__(self, connection: Connection, model: str | None) -> None:
        self.laboratory = Laboratory(model)
        self._line = Wire(connection, name_of=self._name_of, named=self._named)
        self._checks = ThreadPoolExecutor(MAX_RUNNING, "checks")
        self._begun: dict[int, Reports[Any]] = {}
        self._doing: dict[int, Future[Any]] = {}
        self._teller = RunTeller()

    def serve(self) -> None:
        """Until the other side is gone: EOFError or OSError."""
        self.laboratory.start()
        threading.Thread(target=self._pulsate, name="pulse", daemon=True).start()
        while True:
            match self._line.receive():
                case Call() as call:
                    self._call(call)
                case Restore() as lost:
                    self._restore(lost)
                case Begin(number, job):
                    self._checks.submit(self._begin, number, job)
                case Go(number):
                    if work := self._begun.pop(number, None):
                        reports = self._telling(number, work)
                        self._answer_when_done(Call(number, id), self.laboratory.worker.submit_background(reports))
                case Cancel(number):
                    if work := self._begun.pop(number, None):
                        work.close()
                        self._send(Reply(number))  # the end of it, as for all that was cancelled
                    if future := self._doing.get(number):
                        future.cancel()

    def _call(self, call: Call) -> None:
        runs = self.laboratory.runs
        if call.run and (runs is None or runs.find(call.run) is None):
            self._send(Reply(call.number, error=RunLostError(call.run)))
            return
        try:
            value = call.do(self.laboratory)
        except Exception as error:  # noqa: BLE001  # whatever it was, the one who asked must hear of it
            self._send(Reply(call.number, error=error))
            return
        if isinstance(value, Future):
            self._answer_when_done(call, value)
        else:
            self._send(Reply(call.number, value))

    def _answer_when_done(self, call: Call, future: "Future[Any]") -> None:
        self._doing[call.number] = future
        future.add_done_callback(partial(self._answer, call))

    def _answer(self, call: Call, future: "Future[Any]") -> None:
        self._doing.pop(call.number, None)
        error = None if future.cancelled() else future.exception()
        value = None if future.cancelled() or error else future.result()
        runs = self.laboratory.runs
        run = value if isinstance(value, Run) else runs.find(call.run) if runs and call.run else None
        with self._teller:  # news are told in the order in which they were made
            news = self._teller.news(run) if run else None
            self._send(Reply(call.number, None if run else value, error, news))

    def _begin(self, number: int, job: Any) -> None:
        try:
            engine, limits = self.laboratory.engine, self.laboratory.limits
            assert engine is not None
            assert limits is not None
            self._begun[number] = job.begin(engine, limits)
        except Exception as error:  # noqa: BLE001  # the same
            self._send(Reply(number, error=error))
        else:
            self._send(Reply(number))

    def _telling(self, number: int, work: Reports[Any]) -> Generator[None, None, Any]:
        drive = Drive(work)
        try:
            for report in drive:
                self._send(messages.Told(number, report))
                yield
            return drive.result
        finally:
            work.close()

    def _restore(self, lost: Restore) -> None:
        from inference.generation import Generation  # noqa: PLC0415  # torch is loaded by the laboratory

        engine, runs = self.laboratory.engine, self.laboratory.runs
        if engine is None or runs is None or runs.find(lost.name):
            return
        run = Run(Generation.of_trace(engine, lost.trace), lost.recipe, lost.branches, name=lost.name)
        run.released = "when the engine stopped"
        self._teller.has_told(run)
        runs.adopt(lost.learner, run, is_aside=lost.is_aside)

    def _pulsate(self) -> None:
        told, told_s, is_loaded = Pulse(self.laboratory.status), 0.0, False
        in_hand, spent_s, moved_s = None, 0.0, 0.0
        while True:
            lab, now_s = self.laboratory, time.monotonic()
            if not is_loaded and lab.status.state == "ready":
                self._send(self._loaded())
                is_loaded = True
            before, in_hand, spent_s = (in_hand, spent_s), lab.worker.in_hand, time.process_time()
            if in_hand is None or in_hand != before[0] or spent_s - before[1] > PULSE_S / 20:
                moved_s = now_s
            pulse = Pulse(
                lab.status,
                lab.ceilings,
                lab.ceilings_fraction,
                lab.ceilings_problem,
                lab.ceilings_beaten_by,
                tuple(number for number, future in list(self._doing.items()) if future.running()),
                round(now_s - moved_s),
            )
            if pulse != told or now_s - told_s > SIGN_OF_LIFE_S:
                self._send(pulse)
                told, told_s = pulse, now_s
            time.sleep(PULSE_S)

    def _loaded(self) -> Loaded:
        engine, limits = self.laboratory.engine, self.laboratory.limits
        assert engine is not None
        assert limits is not None
        return Loaded(
            name=engine.name,
            revision=engine.revision,
            note=engine.note,
            spec=engine.spec,
            is_chat_model=engine.is_chat_model,
            is_on_cpu=engine.is_on_cpu,
            token_bytes=KnownTokens.of(engine.token_bytes, engine.spec.vocab_size),
            limits=limits,
            kept=Kept.of(engine),
        )

    def _send(self, message: messages.ToPages) -> None:
        try:
            self._line.send(message)
        except OSError:
            os._exit(0)  # nobody is left to hear it; a thread inside torch when Python ends would abort the process
        except Exception as error:
            if not isinstance(message, Reply):
                raise
            problem = RuntimeError(f"the answer could not be sent ({type(error).__name__})")
            self._line.send(Reply(message.number, error=problem))

    def _name_of(self, thing: Any) -> object:
        engine = self.laboratory.engine
        return messages.VOCABULARY if engine is not None and thing is engine.token_bytes else None

    def _named(self, name: Any) -> object:
        """The live generation of a run; None if it is not held here."""
        runs = self.laboratory.runs
        run = runs.find(name) if runs else None
        return run.generation if run else None


def main(line: int, model: str | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then hangs up
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("inference").setLevel(logging.INFO)
    try:
        Service(Connection(line), model).serve()
    except (EOFError, OSError):
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
