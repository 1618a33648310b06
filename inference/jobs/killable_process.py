"""The process that `killable` starts and may kill: imports what it is asked to call, and calls it."""

import math
import resource
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

_GRACE_S = 5


def serve(line: Connection) -> None:
    """Answer calls until the other side is gone. Any error but a ValueError ends the process."""
    while True:
        try:
            function, args, deadline_s = line.recv()
        except EOFError:
            return
        _allow_processor_time(deadline_s)
        line.send("begun")
        try:
            line.send(function(*args))
        except ValueError as error:
            line.send(ValueError(str(error)))


def _allow_processor_time(more_s: float) -> None:
    """Ends this process even when the one that would kill it has died."""
    used_s = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, most_s = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used_s + more_s) + _GRACE_S, most_s))


def _limit_memory(num_bytes: int) -> None:
    with suppress(ValueError, OSError):  # macOS knows the limit and sets none: there the deadline bounds it
        resource.setrlimit(resource.RLIMIT_AS, (num_bytes, num_bytes))


if __name__ == "__main__":
    _limit_memory(int(sys.argv[2]))
    serve(Connection(int(sys.argv[1])))
