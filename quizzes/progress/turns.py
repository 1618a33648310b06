"""Threads that want to write to one SQLite file, in the order in which they came."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock that serves first come, first served.

    SQLite's own waiting, like a plain lock, lets in whoever asks at the right moment: under load some starve.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._guard = threading.Lock()
        self._queue: deque[threading.Event] = deque()  # the first one has the turn

    @contextmanager
    def turn(self) -> Iterator[None]:
        """TimeoutError after wait_s."""
        mine = threading.Event()
        with self._guard:
            self._queue.append(mine)
            self._queue[0].set()
        try:
            if not mine.wait(self._wait_s):
                raise TimeoutError("too many threads are waiting to write")
            yield
        finally:
            with self._guard:
                self._queue.remove(mine)
                if self._queue:
                    self._queue[0].set()
