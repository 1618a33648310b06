"""Uploads of one session are bounded in bytes: by Streamlit's own route and its own store."""

import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.starlette.starlette_routes import create_upload_routes

from pages.ui.server import MIDDLEWARE
from pages.ui.serving.uploads import MOST_BYTES, BoundedUploads

MB = 1_000_000
LARGEST = 33_550_000  # with its envelope just under server.maxUploadSize of 32 MiB


@pytest.fixture
def files() -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/_stcore/upload_file")


@pytest.fixture
def client(files: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    runtime: Any = SimpleNamespace(is_active_session=lambda session_id: True)
    before = streamlit.get_option("server.enableXsrfProtection")
    streamlit.config.set_option("server.enableXsrfProtection", False)
    routes = create_upload_routes(runtime, files, None)
    with TestClient(Starlette(routes=routes, middleware=[Middleware(BoundedUploads, files=lambda: files)])) as made:
        yield made
    streamlit.config.set_option("server.enableXsrfProtection", before)


def _upload(client: TestClient, session: str, num_bytes: int) -> str:
    file_id = str(uuid.uuid4())
    answer = client.put(f"/_stcore/upload_file/{session}/{file_id}", files={"file": ("t.json", b"x" * num_bytes)})
    assert answer.status_code == 204
    return file_id


def _held(files: MemoryUploadedFileManager, session: str) -> int:
    return sum(len(file.data) for file in files.file_storage[session].values())


def test_a_session_that_uploads_on_and_on_keeps_its_newest_files(
    client: TestClient, files: MemoryUploadedFileManager
) -> None:
    others = _upload(client, "bob", 1 * MB)
    for _ in range(6):
        newest = _upload(client, "ada", 31 * MB)
        assert _held(files, "ada") <= MOST_BYTES
        assert len(files.get_files("ada", [newest])[0].data) == 31 * MB
    assert files.get_files("bob", [others]), "nobody else's files give way"


def test_the_largest_file_is_kept_beside_the_one_it_replaces(
    client: TestClient, files: MemoryUploadedFileManager
) -> None:
    both = [_upload(client, "ada", LARGEST) for _ in range(2)]
    assert len(files.get_files("ada", both)) == 2


def test_the_server_bounds_uploads() -> None:
    kinds: list[object] = [middleware.cls for middleware in MIDDLEWARE]
    assert BoundedUploads in kinds
