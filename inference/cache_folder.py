"""Where this project keeps what it can make again: weights and measured roofs."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """TWOPHASES_CACHE, or the user's cache folder; may not exist yet."""
    return Path(os.environ.get("TWOPHASES_CACHE") or user_cache_path("two-phases"))
