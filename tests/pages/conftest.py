"""Pages on the tiny random model: fast, and with the same code as in the browser."""

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from inference.arithmetic.roofline import Ceilings
from inference.server.laboratory import Laboratory
from tests.pages.labs import laboratory

SHELL = str(Path(__file__).parents[2] / "pages/ui/shell.py")


@pytest.fixture(scope="session", autouse=True)
def _one_scan_for_components() -> Iterator[None]:
    """Every AppTest reads what all installed packages say of themselves, 0.2 s; nothing is installed meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests)
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Answers given in tests stay out of the database of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", f"sqlite:///{tmp_path_factory.mktemp('progress')}/progress.sqlite3")
        yield


class _Failures(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def failures() -> Iterator[list[logging.LogRecord]]:
    """Views that could not be drawn: a page lives on without them, a test does not. Expected ones are taken out."""
    found, log = _Failures(), logging.getLogger("pages.ui.parts.boundary")
    log.addHandler(found)
    yield found.records
    log.removeHandler(found)
    assert [(one.getMessage(), one.exc_info and one.exc_info[1]) for one in found.records] == []


@pytest.fixture(scope="session", autouse=True)
def _engine_in_this_process() -> Iterator[None]:
    """No test of a page waits for a process to start; the line to one is tested where it is written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pages.ui.state.LaboratoryElsewhere", Laboratory)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_second_measurement() -> Iterator[None]:
    """Real passes beat the invented roofs; measured ones in their place would change what other tests see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inference.machine.roof_watch.FIRST_PAUSE_S", float("inf"))
        yield


@pytest.fixture(scope="session")
def roofs(known_roofs: tuple[Path, Ceilings], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for all tests here that knows this machine's roofs; measured, they stay here."""
    return copytree(known_roofs[0], tmp_path_factory.mktemp("cache"), dirs_exist_ok=True)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, roofs: Path) -> AppTest:
    """A new learner's first page; the laboratory is shared by all tests here, as it is by all learners."""
    monkeypatch.setenv("TWOPHASES_MODEL", "random:tiny")
    monkeypatch.setenv("TWOPHASES_CACHE", str(roofs))
    lab = laboratory()
    lab.start()
    assert lab.wait(60).state == "ready"
    return AppTest.from_file(SHELL, default_timeout=20)


@pytest.fixture
def step_through(app: AppTest) -> AppTest:
    """The main screen, drawn once."""
    return open_step_through(app)


def open_step_through(app: AppTest) -> AppTest:
    """AppTest knows the pages only after a first run."""
    app.run()
    app.switch_page("../lab/step_through.py")
    return app.run()
