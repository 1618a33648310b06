"""A deleted learner's text is in no file of the database any more; where that cannot be said, it is not said."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from quizzes.progress.progress import Progress
from tests.quizzes import postgresql

MARK = "the lighthouse keeper's own words"


def write(progress: Progress, key: str, word: str, num_rows: int = 80) -> None:
    """Answers and predictions of many lengths, the predictions one over the other."""
    rng = random.Random(num_rows)
    for number in range(num_rows):
        given = word * rng.randint(1, 40)
        progress.predict(key, f"p{number % 7}", given)
        progress.answer(key, f"q{number % 11}", given, is_correct=True, idea="i", submission=str(number))


def files_with(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.iterdir() if word.encode() in path.read_bytes()]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Progress]:
    progress = Progress(f"sqlite:///{tmp_path / 'progress.sqlite3'}", wait_s=0.2)
    yield progress
    progress.close()


def test_after_a_deletion_no_file_holds_the_learners_text(opened: Progress, tmp_path: Path) -> None:
    mine, other = opened.new_key(), opened.new_key()
    for key, word in ((mine, MARK), (other, "another's words")):
        write(opened, key, word)
    opened.join(opened.new_class({}), mine, MARK[:20])
    assert files_with(tmp_path, MARK)
    assert opened.delete(mine) == "nothing"
    assert not files_with(tmp_path, MARK)
    assert not files_with(tmp_path, MARK[:20])
    assert not files_with(tmp_path, mine)
    assert opened.answers(other)["q0"].given.startswith("another's words")


def test_what_an_older_version_freed_without_overwriting_goes_too(opened: Progress, tmp_path: Path) -> None:
    mine = opened.new_key()
    write(opened, mine, "kept")
    opened.close()
    old = sqlite3.connect(tmp_path / "progress.sqlite3", isolation_level=None)
    old.execute("PRAGMA secure_delete = OFF")
    old.execute("INSERT INTO prediction VALUES (?, 'old', ?, '2026-01-01 00:00:00')", (mine, MARK * 30))
    old.execute("DELETE FROM prediction WHERE prediction = 'old'")
    old.close()
    assert files_with(tmp_path, MARK)
    assert opened.delete(mine) == "nothing"
    assert not files_with(tmp_path, MARK)


def test_a_log_that_someone_else_reads_is_said_and_emptied_by_deleting_again(
    opened: Progress, tmp_path: Path
) -> None:
    mine = opened.new_key()
    write(opened, mine, MARK)
    reader = sqlite3.connect(tmp_path / "progress.sqlite3", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM answer").fetchone()[0] > 0
    assert opened.delete(mine) == "log"
    assert opened.answers(mine) == {}
    assert files_with(tmp_path, MARK)
    reader.close()
    assert opened.delete(mine) == "nothing"
    assert not files_with(tmp_path, MARK)


@pytest.mark.slow
def test_of_a_server_only_what_can_be_read_is_promised(server: postgresql.Server) -> None:
    url = server.new_database()
    opened = Progress(url)
    mine = opened.new_key()
    write(opened, mine, MARK, num_rows=3)
    assert opened.delete(mine) == "server"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM answer")).scalar() == 0
    engine.dispose()
    opened.close()
