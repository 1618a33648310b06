"""An empty progress database per test, in SQLite and, marked slow, in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quizzes.progress import Progress
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
    """Where nothing is yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'progress.sqlite3'}"
    running: postgresql.Server = request.getfixturevalue("server")
    return running.new_database()


@pytest.fixture
def progress(url: str) -> Iterator[Progress]:
    opened = Progress(url)
    yield opened
    opened.close()


@pytest.fixture
def key(progress: Progress) -> str:
    return progress.new_key()
