"""The two worker processes as their parent holds them: started, told, heard, and ended whatever happens."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

from inference.disaggregation.wire import BATCH_SIZES, Began, Failed, FromWorker, Lost, Setup, Start

_LOOK_S = 0.05  # a learner's step waits no longer than this for the parent
_SILENCE_S = 120.0  # a pass takes seconds, so a worker that says nothing for this long is stuck
_SECOND_LOOK_S = 10.0  # how long the other worker has to tell that one is gone
_GUARD = """
import shutil, signal, sys
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.SIG_IGN)
sys.stdin.buffer.read()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""  # a process that waits for its parent's end, however that comes, and deletes the weights: half a gigabyte
_ROOT = Path(__file__).resolve().parents[2]
NAMES = ("first worker", "second worker")


class WorkerPair:
    """Two processes, a line to each, a pipe each way between them, and a folder with the model's weights."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="two-phases-"))
        self._guard = subprocess.Popen([sys.executable, "-S", "-c", _GUARD, self.folder], stdin=subprocess.PIPE)
        self.processes: list[subprocess.Popen[bytes]] = []
        self._controls: list[Connection] = []
        self._doing = ["starting"] * len(NAMES)
        cores = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
        self.threads_per_worker = max((len(cores) or os.cpu_count() or 1) // len(NAMES), 1)
        self._cores = cores if len(cores) >= len(NAMES) else []

    def start(self, prompt_lengths: tuple[int, ...]) -> None:
        """Both read the weights from `folder`, time their passes, and tell Ready."""
        inboxes, outboxes = zip(Pipe(duplex=False), Pipe(duplex=False), strict=True)
        for number in range(len(NAMES)):
            ours, theirs = Pipe()
            self._controls.append(ours)
            line = (theirs, inboxes[number], outboxes[1 - number])
            self.processes.append(self._started(line))
            theirs.close()
            cores = self._cores[number * self.threads_per_worker :][: self.threads_per_worker]
            setup = Setup(
                number, str(self.folder), self.threads_per_worker, tuple(cores), prompt_lengths, BATCH_SIZES
            )
            self.tell(number, setup)
        for end in (*inboxes, *outboxes):  # the workers' copies are the only ones: a lost worker is then noticed
            end.close()

    def _started(self, line: Sequence[Connection]) -> "subprocess.Popen[bytes]":
        numbers = [end.fileno() for end in line]
        command = [sys.executable, "-m", "inference.disaggregation.worker", *map(str, numbers)]
        threads = {"OMP_NUM_THREADS": str(self.threads_per_worker)}
        return subprocess.Popen(
            command, cwd=_ROOT, env=os.environ | threads, pass_fds=numbers, stdin=subprocess.DEVNULL
        )

    def tell(self, number: int, order: Setup | Start) -> None:
        try:
            self._controls[number].send(order)
        except OSError:
            raise RuntimeError(self._epitaph(number, "")) from None

    def messages(self) -> Iterator[FromWorker | None]:
        """What the workers tell, in the order it comes; None when nobody has said anything for a moment.

        RuntimeError when a worker is gone, has failed or says nothing any more.
        """
        heard_s = time.monotonic()
        while True:
            message, number = self._hear(_LOOK_S)
            if message is None:
                if time.monotonic() - heard_s > _SILENCE_S:
                    raise RuntimeError(f"the workers said nothing for {_SILENCE_S:.0f} s; run again")
                yield None
                continue
            heard_s = time.monotonic()
            if isinstance(message, Began):
                self._doing[number] = message.doing
            elif isinstance(message, Failed):
                raise RuntimeError(f"the {NAMES[number]} failed: {message.problem}")
            elif isinstance(message, Lost):
                raise RuntimeError(self._epitaph(1 - number, message.noticed))
            yield message

    def _hear(self, wait_s: float) -> tuple[FromWorker | None, int]:
        for control in wait(self._controls, wait_s):
            assert isinstance(control, Connection)
            number = self._controls.index(control)
            try:
                return control.recv(), number
            except (EOFError, OSError):
                raise RuntimeError(self._epitaph(number, self._noticed_by(1 - number))) from None
        return None, 0

    def _noticed_by(self, number: int) -> str:
        """How the other worker noticed, once it has said what it had to say; empty if it says nothing."""
        until_s = time.monotonic() + _SECOND_LOOK_S
        control = self._controls[number]
        try:
            while control.poll(max(until_s - time.monotonic(), 0)):
                message = control.recv()
                if isinstance(message, Lost):
                    return message.noticed
        except (EOFError, OSError):
            pass
        return ""

    def _epitaph(self, number: int, noticed: str) -> str:
        """What happened to a worker, as a sentence."""
        report = f"; the {NAMES[1 - number]} reported it {noticed}" if noticed else ""
        process = self.processes[number].pid
        return (
            f"the {NAMES[number]} (process {process}) ended during {self._doing[number]}{report}. "
            "What was served until then is kept; run again."
        )

    def close(self) -> None:
        """End both processes and wait until they are gone; delete the folder."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        for control in self._controls:
            control.close()
        self.delete()
        assert self._guard.stdin
        self._guard.stdin.close()
        self._guard.wait()

    def delete(self) -> None:
        """The files go; workers that have read them keep what they mapped."""
        shutil.rmtree(self.folder, ignore_errors=True)
