"""A real server with the real model, and Chromium."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from pages.ui.classes.secret import VARIABLE
from tests.browser import chromium
from tests.browser.driving.desks import Desks
from tests.browser.driving.lab_page import PATIENCE_S, LabPage

ROOT = Path(__file__).parents[2]
_READY_S = 600  # tried at a load of 14 on two cores: 220
TEACHER_SECRET = "correct horse battery"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app as `make run` starts it, on a free port, with the model ready and this machine's roofs measured."""
    with _running(tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


@pytest.fixture
def server_below_a_path(tmp_path: Path) -> Iterator[str]:
    """The app as a class's proxy serves it: below a path of its own."""
    with _running(tmp_path / "log.txt", base="/course/phases", TWOPHASES_MODEL="random:tiny") as address:
        yield address


@contextmanager
def _running(log: Path, *, base: str = "", **environment: str) -> Iterator[str]:
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    own = environment | {
        "DATABASE_URL": f"sqlite:///{log.parent}/progress.sqlite3",  # not that of whoever runs the tests
        "TMPDIR": str(log.parent),  # where no other test looks for what is left behind
        VARIABLE: TEACHER_SECRET,
    }
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--server.port", str(port), "--server.baseUrlPath", base],
            cwd=ROOT,
            stdout=out,
            stderr=out,
            env=os.environ | own,
        )
    address = f"http://127.0.0.1:{port}{base}"
    try:
        _wait_until_ready(address, process, log)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/ready", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
        assert process.poll() is None, log.read_text()[-4000:]
    raise AssertionError(f"the server was not ready in {_READY_S} s: {log.read_text()[-4000:]}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_S * 1000)
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=chromium.find(), args=arguments)


@pytest.fixture(scope="session")
def desks(server: str, browser: Browser) -> Desks:
    return Desks(browser, server)


@pytest.fixture
def lab(desks: Desks) -> Iterator[LabPage]:
    """A learner's own browser on the main screen; fails on any console error or foreign request."""
    with desks.learner() as page:
        yield page


@pytest.fixture
def visitor(desks: Desks) -> Iterator[LabPage]:
    """A learner's own browser, on no page yet."""
    with desks.learner(None) as page:
        yield page


@pytest.fixture
def other_visitor(desks: Desks) -> Iterator[LabPage]:
    """Another learner's browser, on no page yet."""
    with desks.learner(None) as page:
        yield page


@pytest.fixture
def other_lab(desks: Desks) -> Iterator[LabPage]:
    """Another learner's browser, on the main screen."""
    with desks.learner() as page:
        yield page
