"""An empty database, and one that is there already, come to the tables the program uses."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from quizzes.progress.progress import Progress
from quizzes.progress.tables import metadata


def test_the_migrations_make_the_tables_that_the_program_uses(url: str) -> None:
    progress = Progress(url)
    progress.new_class({})
    progress.close()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_servers_that_open_an_empty_database_at_once_all_work(url: str) -> None:
    servers = [Progress(url) for _ in range(6)]
    with ThreadPoolExecutor(len(servers)) as threads:
        codes = list(threads.map(lambda server: server.new_class({}), servers))
    assert {each.code for each in servers[0].classes()} == set(codes)
    for server in servers:
        server.close()


def test_without_an_address_a_file_in_the_users_data_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))  # where macOS looks
    progress = Progress()
    code = progress.new_class({})
    progress.close()
    (path,) = tmp_path.rglob("progress.sqlite3")
    assert path.parent.name == "two-phases"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    again = Progress()
    assert [each.code for each in again.classes()] == [code]
    again.close()
