"""Where this project keeps what it can make again: weights, measured roofs and sweeps."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def write_whole(path: Path, content: bytes) -> None:
    """The whole file or nothing, whenever the process is killed. OSError as from any write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def cache_folder() -> Path:
    """TWOPHASES_CACHE, or the user's cache folder; may not exist yet."""
    return Path(os.environ.get("TWOPHASES_CACHE") or user_cache_path("two-phases"))
