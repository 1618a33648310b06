"""Progress databases in SQLite and, marked slow, in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quizzes.progress.progress import Progress
from tests.quizzes import postgresql

BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    binaries = postgresql.binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's binaries (initdb, pg_ctl) are not installed")
    with postgresql.running(binaries) as running:
        yield running


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the test's own, where nothing is yet."""
    return _empty(request, tmp_path)


@pytest.fixture(params=BOTH, scope="session")
def progress(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Progress]:
    """One for all tests: a new learner meets nothing of the others."""
    opened = Progress(_empty(request, tmp_path_factory.mktemp("progress")))
    yield opened
    opened.close()


def _empty(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'progress.sqlite3'}"
    running: postgresql.Server = request.getfixturevalue("server")
    return running.new_database()


@pytest.fixture
def key(progress: Progress) -> str:
    return progress.new_key()
