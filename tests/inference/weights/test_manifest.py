"""A converted folder is whole if its files have the bytes they were written with; hashing is done once a change."""

import json
import os
from pathlib import Path

import pytest

from inference.weights import manifest as weights_manifest
from inference.weights.manifest import MANIFEST, damage, sha256, write_manifest

REVISION = "abc"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.mkdir()
    (path / "model.safetensors").write_bytes(bytes(range(256)) * 10)
    (path / "tokenizer.json").write_text('{"version": "1.0"}')
    write_manifest(path, REVISION)
    return path


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files hashed since the folder was sealed."""
    names: list[str] = []

    def counting(path: Path) -> str:
        names.append(path.name)
        return sha256(path)

    monkeypatch.setattr(weights_manifest, "sha256", counting)
    return names


def altered(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def touched(file: Path, seconds: int) -> None:
    moved = file.stat().st_mtime_ns + seconds * 10**9
    os.utime(file, ns=(moved, moved))


def test_a_whole_folder_is_not_hashed_at_a_start(folder: Path, hashed: list[str]) -> None:
    assert damage(folder, REVISION) == ""
    assert hashed == []


def test_a_file_with_another_time_is_hashed_once(folder: Path, hashed: list[str]) -> None:
    touched(folder / "model.safetensors", 5)
    assert damage(folder, REVISION) == damage(folder, REVISION) == ""
    assert hashed == ["model.safetensors"]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_one_changed_bit_is_found_and_its_file_and_place_are_named(folder: Path, name: str) -> None:
    altered(folder / name)
    touched(folder / name, 5)
    for _ in range(2):  # what is damaged is not remembered as checked
        assert damage(folder, REVISION).startswith(f"{name} in {folder} is damaged")


def test_a_manifest_of_an_earlier_version_is_read_and_its_weights_are_hashed_once(
    folder: Path, hashed: list[str]
) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["checked"], manifest["tokenizer.json sha256"]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert damage(folder, REVISION) == damage(folder, REVISION) == ""
    assert hashed == ["model.safetensors"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing in "),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "has 2 bytes instead of 18"),
        (lambda folder: (folder / MANIFEST).unlink(), "no readable manifest.json"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "no readable manifest.json"),
        (lambda folder: (folder / MANIFEST).write_text('{"revision": "abc", "conversion": 0}'), "another version"),
    ],
)
def test_what_does_not_fit_the_manifest_is_said(folder: Path, change: object, problem: str) -> None:
    assert callable(change)
    change(folder)
    assert problem in damage(folder, REVISION)
