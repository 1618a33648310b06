"""Runs what a stranger's text leads to in a process of its own, which is killed when it takes too long.

No thread can be stopped from outside, least of all inside a library; a process can, and its memory goes with it.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
MEMORY_BYTES = 512_000_000
"""Of address space, of which Python and the libraries take a fifth."""
_AT_ONCE = 2  # a hostile text holds one for its deadline, and the other serves the rest
_START_S = 60.0  # to start Python and import, on a machine that does much else
_ROOT = Path(__file__).resolve().parents[2]


class KilledError(RuntimeError):
    """The work took more time or memory than it was given; reads on from what the work was."""


class _Process:
    """One that stands by for calls."""

    def __init__(self) -> None:
        self._line, theirs = Pipe()
        command = [sys.executable, "-m", "inference.jobs.killable_process", str(theirs.fileno()), str(MEMORY_BYTES)]
        self._process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=os.environ | {"RUST_BACKTRACE": "0"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a library's last words quote what a learner wrote
        )
        theirs.close()

    def call(self, function: Callable[..., T], args: tuple[object, ...], deadline_s: float) -> T:
        try:
            self._line.send((function, args, deadline_s))
            _hear(self._line, _START_S)  # it has imported what the function needs: its time runs from here
            answer = _hear(self._line, deadline_s)
        except TimeoutError:
            raise KilledError(f"took longer than {deadline_s:g} s") from None
        except (EOFError, OSError):
            raise KilledError(
                f"ended without an answer, as what takes more than {MEMORY_BYTES / 1e6:.0f} MB does"
            ) from None
        if isinstance(answer, ValueError):
            raise answer
        result: T = answer
        return result

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._line.close()


def _hear(line: Connection, wait_s: float) -> Any:
    if not line.poll(wait_s):
        raise TimeoutError
    return line.recv()


_own = threading.local()
_threads = ThreadPoolExecutor(_AT_ONCE, "killable")  # each has its process; who comes later waits in a queue


def submit(function: Callable[..., T], *args: object, deadline_s: float) -> "Future[T]":
    """Call a module's function elsewhere; the future ends with its result, its ValueError or a KilledError."""
    return _threads.submit(_call, function, args, deadline_s)


def _call(function: Callable[..., T], args: tuple[object, ...], deadline_s: float) -> T:
    process: _Process = vars(_own).pop("process", None) or _Process()
    start_s = time.monotonic()
    is_fit = False
    try:
        result = process.call(function, args, deadline_s)
        is_fit = True
    except ValueError:
        is_fit = True
        raise
    finally:
        # work that was long may have left the process large: the next call gets a new one
        if is_fit and time.monotonic() - start_s < deadline_s / 4:
            _own.process = process
        else:
            process.kill()
    return result
