"""A PostgreSQL server of the tests' own: in a temporary folder, on a free port, gone afterwards."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def binaries() -> Path | None:
    """The folder with initdb, pg_ctl and postgres; None where PostgreSQL is not installed."""
    found = shutil.which("initdb")
    folders = [*([Path(found).resolve().parent] if found else []), *reversed(BINARIES)]
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


class Server:
    """Stopped and started at will, to see what its users make of it."""

    def __init__(self, folder: Path, bin_folder: Path, port: int) -> None:
        self._folder, self._bin, self.port = folder, bin_folder, port
        self._num_databases = 0

    def initialise(self) -> None:
        self._run("initdb", "--auth=trust", "--username=tester", "--encoding=UTF8", "--locale=C.UTF-8")

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "start", "--wait", "--log", str(self._folder / "log"), "--options", options)

    def stop(self, mode: str = "immediate") -> None:
        """immediate: as after a power cut; the next start recovers from the log."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def execute(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self._address(database), autocommit=True) as connection:
            connection.execute(sql.SQL(statement))

    def new_database(self) -> str:
        """The address of an empty one."""
        self._num_databases += 1
        name = f"progress_{self._num_databases}"
        self.execute(f"CREATE DATABASE {name}")
        return self._address(name)

    def _address(self, database: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        user = _unprivileged()
        subprocess.run(
            [self._bin / program, "--pgdata", self._folder / "data", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,  # a pipe would stay open in the server
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            cwd="/",
        )


def _unprivileged() -> pwd.struct_passwd | None:
    """Whom PostgreSQL runs as: it refuses to run as root. None: as ourselves."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


@contextmanager
def running(bin_folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    folder = Path(tempfile.mkdtemp(prefix="two-phases-pg-"))  # pytest's own is closed to other users
    if user := _unprivileged():
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = Server(folder, bin_folder, port)
    try:
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
