"""The engine's process as the pages' holds it: started, spoken to, ended."""

import signal
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path

from inference.server.messages import Named, NameOf, Wire

_ROOT = Path(__file__).resolve().parents[2]


class EngineProcess:
    """One process, from its start to its end."""

    def __init__(self, model: str | None, *, name_of: NameOf, named: Named) -> None:
        ours, theirs = Pipe()
        self._line = Wire(ours, name_of=name_of, named=named)
        command = [sys.executable, "-m", "inference.server.engine_process", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command + ([model] if model else []), cwd=_ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        self.send, self.receive, self.has_news = self._line.send, self._line.receive, self._line.has_news

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        """Whatever it does: who listens to it hears that it is gone."""
        self._process.kill()

    def ended(self, timeout_s: float) -> str:
        """Hang up, and how it ended, in words."""
        self._line.close()
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code == -signal.SIGKILL:
            return "was killed, perhaps for want of memory"
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
