"""How the two databases are reached: addresses, connections, and the settings that make an answer durable."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from quizzes.progress.records import Remains
from quizzes.progress.turns import Turns

_OVERWRITES = 1  # in the file's user_version: all that was ever deleted from it is overwritten


@dataclass(frozen=True, slots=True)
class Engines:
    """Two ways into one database."""

    reading: Engine
    writing: Engine
    turn: Callable[[], AbstractContextManager[None]]
    """To be held while writing."""
    erase: Callable[[], Remains]
    """Takes what was deleted out of the files beside the tables too; says what may still hold it."""


def engines(url: str | None, *, wait_s: float) -> Engines:
    """Nothing is connected yet. ArgumentError: the address is none that can be used."""
    address = _address(url)
    return _sqlite(address, wait_s) if address.get_backend_name() == "sqlite" else _postgresql(address, wait_s)


def _address(url: str | None) -> URL:
    """The given address, or DATABASE_URL, or a SQLite file in the user's data folder."""
    address = url or os.environ.get("DATABASE_URL")
    if not address:
        return URL.create("sqlite", database=str(user_data_path("two-phases") / "progress.sqlite3"))
    try:
        parsed = make_url(address)
    except (ArgumentError, ValueError):
        raise ArgumentError("not the address of a database") from None  # the original would show a password
    if parsed.drivername in {"postgres", "postgresql"}:
        return parsed.set(drivername="postgresql+psycopg")
    backend = parsed.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise ArgumentError(f"{backend} is neither sqlite nor postgresql")
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise ArgumentError("a SQLite database in memory keeps nothing")
    return parsed


def _sqlite(url: URL, wait_s: float) -> Engines:
    path = None if "uri" in url.query else Path(str(url.database))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        connect_args={"timeout": wait_s},
        pool_timeout=wait_s,
        hide_parameters=True,  # they are learners' answers: nothing for a log
    )
    _prepare_sqlite(engine, path)
    return Engines(engine, engine.execution_options(is_writing=True), Turns(wait_s).turn, lambda: _erase(engine))


def _erase(engine: Engine) -> Remains:
    """Empty the write-ahead log. Once per file, write it anew: older versions freed text without overwriting it."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if cursor.execute("PRAGMA user_version").fetchone()[0] < _OVERWRITES:
            cursor.execute("VACUUM")
            cursor.execute(f"PRAGMA user_version = {_OVERWRITES}")
        is_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:  # another program reads or writes, or the disk is full
        return "log"
    finally:
        connection.close()
        engine.dispose()  # idle connections remember pages as they were
    return "log" if is_busy else "nothing"


def _prepare_sqlite(engine: Engine, path: Path | None) -> None:
    @event.listens_for(engine, "connect")
    def _settings(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver begins nothing: _begin does
        with suppress(sqlite3.OperationalError):  # someone else is just doing it; the file remembers
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # an acknowledged answer survives a power cut too
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(
            "PRAGMA secure_delete = ON"
        )  # what is deleted or replaced is overwritten, not only freed
        entry.info["file"] = _identity(path)

    @event.listens_for(engine, "checkout")
    def _is_same_file(
        connection: sqlite3.Connection, entry: ConnectionPoolEntry, proxy: PoolProxiedConnection
    ) -> None:
        """An old connection writes into a deleted file, for nobody, and stays read-only when its file does not."""
        if entry.info["file"] != _identity(path):
            raise DisconnectionError("the database's file, or what may be done with it, has changed")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        """A writer takes its lock first: a reader that becomes a writer later cannot wait for one."""
        is_writing = connection.get_execution_options().get("is_writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _identity(path: Path | None) -> tuple[int, ...] | None:
    """Another file, or other rights on it, has another identity."""
    if path is None or not path.exists():
        return None
    file = path.stat()
    return file.st_dev, file.st_ino, file.st_mode, file.st_uid


def _postgresql(url: URL, wait_s: float) -> Engines:
    engine = create_engine(
        url,
        connect_args={"connect_timeout": max(2, round(wait_s)), "tcp_user_timeout": round(wait_s * 1000)},
        pool_timeout=wait_s,
        pool_pre_ping=True,  # a server that was started again is found at the next call
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: PoolProxiedConnection, entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for name in ("lock_timeout", "statement_timeout"):
            cursor.execute(f"SET {name} = {round(wait_s * 1000)}")
        connection.commit()

    return Engines(engine, engine, nullcontext, lambda: "server")
