"""The seal of a converted model folder: what was written, by size and hash, and what was last found whole."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from inference.files.cache_folder import write_whole

MANIFEST = "manifest.json"
CONVERSION = 1  # raise it when weights_convert writes something else: older folders are then made anew


def write_manifest(path: Path, revision: str) -> None:
    """Seal a converted folder: it is complete if and only if it fits this last file."""
    files = sorted(path.iterdir())
    manifest = {
        "revision": revision,
        "conversion": CONVERSION,
        **{f"{file.name} sha256": sha256(file) for file in files},
        "bytes": {file.name: file.stat().st_size for file in files},
        "checked": {file.name: _stamp(file) for file in files},
    }
    _save(path, manifest)


def damage(path: Path, revision: str) -> str:
    """What is wrong with a converted folder, naming the file and the place; empty if it is whole.

    A file is hashed again only after its time of change moved, so that an ordinary start hashes nothing.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if (manifest["revision"], manifest["conversion"]) != (revision, CONVERSION):
            return f"{path} was made by another version"
        sizes, checked = dict(manifest["bytes"]), dict(manifest.get("checked", {}))
    except (OSError, ValueError, KeyError, TypeError):
        return f"{path} has no readable {MANIFEST}, so nothing says whether it is whole"
    stamps = {}
    for name, size in sizes.items():
        file = path / name
        if not file.is_file():
            return f"{name} is missing in {path}"
        if file.stat().st_size != size:
            return f"{name} in {path} has {file.stat().st_size:,} bytes instead of {size:,}"
        stamps[name] = _stamp(file)
        expected = manifest.get(f"{name} sha256")
        if expected and checked.get(name) != stamps[name] and sha256(file) != expected:
            return f"{name} in {path} is damaged: its SHA-256 is not that of the conversion"
    if checked != stamps:
        with suppress(OSError):  # a folder that cannot be written is hashed at every start
            _save(path, manifest | {"checked": stamps})
    return ""


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(file: Path) -> list[int]:
    """Of its last change: nanoseconds, and the bytes it had then."""
    status = file.stat()
    return [status.st_mtime_ns, status.st_size]


def _save(path: Path, manifest: dict[str, object]) -> None:
    write_whole(path / MANIFEST, json.dumps(manifest, indent=2).encode())
