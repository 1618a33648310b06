"""What went wrong with the database, in words that anyone may read and act on; no address, no password."""

import errno
import sqlite3

from alembic.util import CommandError
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

_BUSY = (
    "The progress database is busy: another program holds it. Nothing counts as saved. "
    "Try again in a moment; if that does not help, close what holds it."
)
_READ_ONLY = (
    "The progress database can only be read. Nothing counts as saved. "
    "Make its file, those beside it that begin with its name, and the folder writable, or its role; then try again."
)
_FULL = "The progress database or its disk is full. Nothing counts as saved. Free some space there, then try again."
_UNREACHABLE = (
    "The progress database does not answer. Nothing counts as saved. "
    "Start it, or correct DATABASE_URL, then try again: sending an answer twice does no harm."
)
_DAMAGED = (
    "The progress database's file cannot be read as a database. Nothing counts as saved. "
    "Put back a copy, or move the file away to begin a new one, then try again."
)
_NEWER = (
    "The progress database was made by a newer version of this program. Nothing counts as saved. "
    "Install that version, or choose another database with DATABASE_URL."
)
_ADDRESS = (
    "DATABASE_URL is not the address of a database that can be used. Nothing counts as saved. "
    "Write sqlite:////path/to/file or postgresql://user:password@host/name, and start again."
)

_SQLITE = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _UNREACHABLE,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
# By SQLSTATE, whole or its class: https://www.postgresql.org/docs/15/errcodes-appendix.html
_POSTGRESQL = {
    "53100": _FULL,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "53": _BUSY,  # too many connections, out of memory
    "55": _BUSY,  # lock not available
    "57014": _BUSY,  # statement timeout
    "40": _BUSY,  # deadlock
    "57": _UNREACHABLE,  # shutting down, starting up
    "08": _UNREACHABLE,
    "28": _UNREACHABLE,  # wrong user or password
    "3D": _UNREACHABLE,  # no such database
}
_SYSTEM = {errno.EACCES: _READ_ONLY, errno.EPERM: _READ_ONLY, errno.EROFS: _READ_ONLY, errno.ENOSPC: _FULL}


def remedy(error: Exception) -> str:
    """What happened, that nothing counts as saved, and what to do."""
    if isinstance(error, ArgumentError | NoSuchModuleError):
        return _ADDRESS
    if isinstance(error, CommandError):
        return _NEWER
    if isinstance(error, NoConnectionFree | TimeoutError):
        return _BUSY
    if isinstance(error, OSError):
        return _SYSTEM.get(error.errno or 0, _UNREACHABLE)
    return (_of_driver(error) if isinstance(error, DBAPIError) else None) or (
        f"The progress database failed ({type(error).__name__}). Nothing counts as saved. "
        "Try again; if it stays, its cause is in the server's log."
    )


def _of_driver(error: DBAPIError) -> str | None:
    if isinstance(error.orig, sqlite3.Error):
        return _SQLITE.get(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF)  # without the extended part
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # psycopg: the server was never reached, or the connection broke
        return _UNREACHABLE
    return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
