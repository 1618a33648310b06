"""The database read-only, locked, full, damaged or away: said with its remedy, nothing lost, and then over."""

import os
import pwd
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from quizzes.progress.progress import Progress, ProgressError, Saved
from tests.quizzes import postgresql

BAD_ADDRESSES = [
    "mysql://root:secret@localhost/x",
    "secret",
    "postgresql://user:secret@host:port/x",
    "sqlite://",
    "sqlite:///:memory:",
    "postgresql+nothing://user:secret@host/x",
]


def put(progress: Progress, key: str, question: str = "a") -> Saved:
    return progress.answer(key, question, "x", is_correct=True, idea="i", submission=question)


def refused(act: Callable[[], object], *words: str) -> str:
    """The message, which holds the words, says that nothing is saved, and gives away no password."""
    with pytest.raises(ProgressError) as error:
        act()
    message = str(error.value)
    assert all(word in message for word in (*words, "Nothing counts as saved")), message
    assert "secret" not in message
    return message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress.sqlite3"


@pytest.fixture
def impatient(path: Path) -> Iterator[Progress]:
    opened = Progress(f"sqlite:///{path}", wait_s=0.02)
    yield opened
    opened.close()


def test_a_locked_file_is_said_to_be_busy_and_read_meanwhile(impatient: Progress, path: Path) -> None:
    key = impatient.new_key()
    put(impatient, key, "before")
    holder = sqlite3.connect(path)
    holder.execute("BEGIN IMMEDIATE")
    refused(lambda: put(impatient, key, "during"), "busy", "Try again")
    assert list(impatient.answers(key)) == ["before"]
    holder.rollback()
    holder.close()
    assert put(impatient, key, "during").is_new


def test_a_file_that_is_locked_at_the_first_use_is_opened_later(impatient: Progress, path: Path) -> None:
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    refused(lambda: impatient.answers(impatient.new_key()), "busy")
    holder.close()
    assert put(impatient, impatient.new_key()).is_new


def test_a_file_that_can_only_be_read_is_read(impatient: Progress, path: Path) -> None:
    key = impatient.new_key()
    put(impatient, key)
    reader = Progress(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert list(reader.answers(key)) == ["a"]
    refused(lambda: put(reader, key, "b"), "only be read", "writable")
    refused(lambda: reader.delete(key), "only be read")
    assert list(reader.answers(key)) == ["a"]
    reader.close()


def test_a_file_that_becomes_writable_is_written_again() -> None:
    with a_folder_without_privileges() as folder:
        path = folder / "progress.sqlite3"
        progress = Progress(f"sqlite:///{path}")
        key = progress.new_key()
        put(progress, key, "before")
        progress.close()
        for mode, is_writable in ((0o444, False), (0o644, True)):
            for file in folder.glob(f"{path.name}*"):  # SQLite's -wal and -shm inherit the rights
                file.chmod(mode)
            if is_writable:
                assert put(progress, key, "after").is_new
            else:
                refused(lambda: put(progress, key, "during"), "only be read", "writable")
                assert list(progress.answers(key)) == ["before"]
        assert list(progress.answers(key)) == ["before", "after"]
        progress.close()
        for mode in (0o555, 0):
            folder.chmod(mode)
            refused(lambda: put(progress, key, "during"))
            folder.chmod(0o755)
            assert put(progress, key, f"after {mode}").is_new
            progress.close()


@contextmanager
def a_folder_without_privileges() -> Iterator[Path]:
    """As root every file can be written: step down to nobody meanwhile."""
    is_root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp())  # pytest's own is closed to other users
    nobody = pwd.getpwnam("nobody").pw_uid
    if is_root:
        os.chown(folder, nobody, -1)
        os.seteuid(nobody)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_a_full_database_keeps_nothing_of_the_answer_and_all_before_it(impatient: Progress) -> None:
    key, kept = impatient.new_key(), ["before"]
    put(impatient, key, "before")
    impatient.close()

    def fill() -> None:
        for number in range(200):
            kept.append(put(impatient, key, f"{number} {'x' * 60}").question_id)

    with no_more_pages():
        refused(fill, "full", "Free some space")
        assert list(impatient.answers(key)) == kept
        assert impatient.mastery(key)["i"].right == len(kept)
    assert put(impatient, key, "after").is_new
    assert list(impatient.answers(key)) == [*kept, "after"]


@contextmanager
def no_more_pages() -> Iterator[None]:
    """SQLite's own limit on the size of a file, put on each connection that is opened meanwhile."""
    connections: list[sqlite3.Connection] = []

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connections.append(connection)
        connection.execute("PRAGMA max_page_count = 1")  # SQLite makes that the present size

    event.listen(Pool, "connect", limit)
    try:
        yield
    finally:
        event.remove(Pool, "connect", limit)
        for connection in connections:
            with suppress(sqlite3.ProgrammingError):  # closed already
                connection.execute("PRAGMA max_page_count = 1000000")


def test_a_file_that_is_no_database_is_said_to_be_damaged(path: Path) -> None:
    path.write_bytes(b"not a database, " * 1000)
    progress = Progress(f"sqlite:///{path}")
    refused(lambda: progress.answers(progress.new_key()), "cannot be read as a database", "move the file")
    path.unlink()
    assert put(progress, progress.new_key()).is_new
    progress.close()


def test_a_folder_in_the_files_place_is_named_and_recovered_from(path: Path) -> None:
    path.mkdir()
    progress = Progress(f"sqlite:///{path}")
    refused(lambda: put(progress, progress.new_key()), "does not answer")
    path.rmdir()
    assert put(progress, progress.new_key()).is_new
    progress.close()


def test_an_answer_goes_into_the_file_that_is_there_and_not_into_a_deleted_one(
    impatient: Progress, path: Path
) -> None:
    key = impatient.new_key()
    put(impatient, key, "before")
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    with pytest.raises(ProgressError):
        put(impatient, key, "lost")
    assert put(impatient, key, "after").is_new
    other = Progress(f"sqlite:///{path}")
    assert list(other.answers(key)) == ["after"]
    other.close()


def test_a_database_of_a_newer_version_is_left_alone(impatient: Progress, path: Path) -> None:
    key = impatient.new_key()
    put(impatient, key)
    with sqlite3.connect(path) as newer:
        newer.execute("UPDATE alembic_version SET version_num = 'from-the-future'")
    newer.close()
    late = Progress(f"sqlite:///{path}")
    refused(lambda: late.answers(key), "newer version", "DATABASE_URL")
    late.close()


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_an_address_of_no_database_is_refused_without_showing_it(address: str) -> None:
    progress = Progress(address)
    refused(lambda: progress.answers(progress.new_key()), "DATABASE_URL")


def test_a_server_that_is_not_there_is_named_at_the_first_use() -> None:
    progress = Progress("postgres://user:secret@127.0.0.1:1/nothing", wait_s=0.1)
    refused(lambda: progress.answers(progress.new_key()), "does not answer", "Start it", "DATABASE_URL")


@pytest.mark.slow
def test_a_server_that_stops_is_missed_and_found_again(server: postgresql.Server) -> None:
    url = server.new_database()
    server.stop()
    progress = Progress(url.replace("postgresql://", "postgres://"))
    key = progress.new_key()
    try:
        refused(lambda: progress.resume(key), "does not answer")
    finally:
        server.start()
    put(progress, key, "before")
    server.stop("immediate")
    try:
        refused(lambda: put(progress, key, "during"), "does not answer")
        refused(lambda: progress.answers(key), "does not answer")
    finally:
        server.start()
    assert list(progress.answers(key)) == ["before"]
    assert put(progress, key, "during").is_new
    progress.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "word"),
    [("53100", "full"), ("25006", "only be read"), ("57014", "busy"), ("57P03", "does not answer")],
)
def test_what_a_server_reports_is_said_in_the_same_words(server: postgresql.Server, state: str, word: str) -> None:
    """Raised by a trigger, so that it takes the way of a real one: https://www.postgresql.org/docs/15/errcodes-appendix.html"""
    url = server.new_database()
    name = url.rsplit("/", 1)[1]
    progress = Progress(url)
    key = progress.new_key()
    put(progress, key, "before")
    fail = f"BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END"
    server.execute(f"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ {fail} $$", name)
    server.execute("CREATE TRIGGER fail BEFORE INSERT ON review FOR EACH ROW EXECUTE FUNCTION fail()", name)
    refused(lambda: put(progress, key, "during"), word)
    assert list(progress.answers(key)) == ["before"], "the answer goes with the review it could not get"
    server.execute("DROP TRIGGER fail ON review", name)
    assert put(progress, key, "during").is_new
    progress.close()


@pytest.mark.slow
def test_a_server_that_only_reads_is_read(server: postgresql.Server) -> None:
    url = server.new_database()
    name = url.rsplit("/", 1)[1]
    progress = Progress(url)
    key = progress.new_key()
    put(progress, key)
    progress.close()
    server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert list(progress.answers(key)) == ["a"]
    refused(lambda: put(progress, key, "b"), "only be read")
    server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    progress.close()
    assert put(progress, key, "b").is_new
    progress.close()
