"""The app in a process of its own, on a free loopback port, with its model loaded."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_ROOT = Path(__file__).parents[1]
_PATIENCE_S = 120.0


@contextmanager
def server(**environment: str) -> Iterator[int]:
    """Yields the port once GET /ready answers 200; ends the process afterwards."""
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=_ROOT, env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_ready(process, port)
            yield port
        except BaseException:
            log.seek(0)
            sys.stderr.buffer.write(log.read()[-4000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode} before it was ready")
        try:
            with urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the server was not ready after {_PATIENCE_S:.0f} s")
