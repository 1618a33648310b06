"""The progress database: opened and migrated at its first use, found again after a fault, every fault named."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from quizzes.progress.engines import Engines, engines
from quizzes.progress.faults import remedy
from quizzes.progress.records import ProgressError, Remains

_LOG = logging.getLogger(__name__)
_MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATING = threading.Lock()  # Alembic's context is one per process
_PG_MIGRATION_LOCK = 7_265_110_423  # any number, the same in every server of this program


class Database:
    """Connections to read and to write. The first use opens it; after a fault the next one looks again."""

    def __init__(self, url: str | None, *, wait_s: float) -> None:
        self._url, self._wait_s = url, wait_s
        self._engines: Engines | None = None
        self._is_current = False
        self._opening = threading.Lock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._faults_named(), self._current().reading.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: committed, durably, when the block ends, or never happened."""
        with self._faults_named():
            database = self._current()
            with database.turn(), database.writing.begin() as connection:
                yield connection

    def erase(self) -> Remains:
        """After a deletion: make it unreadable too, as far as that can be done from here."""
        with self._faults_named():
            database = self._current()
            with database.turn():
                return database.erase()

    def close(self) -> None:
        """Give back the idle connections; the next use makes new ones."""
        if self._engines is not None:
            self._engines.reading.dispose()  # the pool is one

    def _current(self) -> Engines:
        if self._engines is not None and self._is_current:
            return self._engines
        if not self._opening.acquire(timeout=self._wait_s):
            raise TimeoutError("another thread is still trying to open the database")
        try:
            self._engines = self._engines or engines(self._url, wait_s=self._wait_s)
            if not self._is_current:
                _migrate(self._engines)
                self._is_current = True
            return self._engines
        finally:
            self._opening.release()

    @contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, CommandError, OSError) as error:
            self._is_current = False
            _LOG.warning("progress database: %s", getattr(error, "orig", None) or error)
            raise ProgressError(remedy(error)) from error


def _migrate(database: Engines) -> None:
    """Bring the tables to their newest form. Of two servers that start at once, one waits for the other."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    newest = ScriptDirectory.from_config(config).get_current_head()
    with database.reading.connect() as connection:
        if MigrationContext.configure(connection).get_current_revision() == newest:
            return  # a database that can only be read is fine as long as it is current
    with _MIGRATING, database.writing.begin() as connection:  # in SQLite, begin() takes the lock
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _PG_MIGRATION_LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
