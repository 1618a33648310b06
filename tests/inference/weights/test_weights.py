"""Models are found by folder and hub id, and the command says in one sentence why not."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from inference.weights import WeightsError, find


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A folder with the files of a model."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    save_file({"weight": np.zeros(4, np.float32)}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("random:tiny", "has no weights to find"),
        ("/no/such/folder", "no folder '/no/such/folder' here"),
        ("SmolLM3", "no folder 'SmolLM3' here"),
        (__file__, "is a file"),
    ],
)
def test_what_is_no_model_is_refused_with_what_would_be(model: str, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        find(model)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """As much of the Hugging Face Hub as snapshot_download asks: one model, one gated, no other."""

    files: dict[str, bytes]
    fetched: set[str]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if "/nobody/" in path:
            self.answer(404, error="RepoNotFound")
        elif "/gated/" in path:
            self.answer(403, error="GatedRepo")
        elif "/tree/" in path:
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": "0" * 39 + str(len(name) % 10)}
                for name, content in self.files.items()
            ]
            self.answer(200, json.dumps(tree).encode())
        elif path.startswith("/api/models/owner/name"):
            siblings = [{"rfilename": name} for name in self.files]
            info = {"id": "owner/name", "sha": COMMIT, "siblings": siblings}
            self.answer(200, json.dumps(info).encode())
        elif name := path.partition(f"/resolve/{COMMIT}/")[2]:
            self.fetched.add(name)
            self.answer(200, self.files[name])
        else:
            self.answer(404)

    do_HEAD = do_GET

    def answer(self, status: int, content: bytes = b"", error: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{len(content)}-{hash(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def hub(local: Path) -> Iterator[ThreadingHTTPServer]:
    Hub.files = {file.name: file.read_bytes() for file in local.iterdir()}
    Hub.files |= dict.fromkeys(("pytorch_model.bin", "modeling.py", "onnx/model.safetensors"), b"x")
    Hub.fetched = set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        yield server
        server.shutdown()


def command(model: str, tmp_path: Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    """`python -m inference.weights`; a process of its own, as the hub reads its settings on import."""
    settings = {"TWOPHASES_MODEL": model, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf")}
    return subprocess.run(
        [sys.executable, "-m", "inference.weights"],
        env=os.environ | settings | {"HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_hub_model_arrives_without_its_pickles_and_code(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    done = command("owner/name", tmp_path, f"http://127.0.0.1:{hub.server_port}")
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.splitlines()[-1])
    assert folder.name == COMMIT
    assert {file.name for file in folder.iterdir()} == {"config.json", "tokenizer.json", "model.safetensors"}
    assert Hub.fetched == {"config.json", "tokenizer.json", "model.safetensors"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sentence"),
    [("nobody/nothing", "no public model of that name"), ("gated/model", "is gated; accept its terms")],
)
def test_the_command_prints_one_sentence_and_fails(
    hub: ThreadingHTTPServer, tmp_path: Path, model: str, sentence: str
) -> None:
    done = command(model, tmp_path, f"http://127.0.0.1:{hub.server_port}")
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_hub_model_without_a_network_says_what_to_check(tmp_path: Path) -> None:
    done = command("owner/name", tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "check the network" in done.stderr
