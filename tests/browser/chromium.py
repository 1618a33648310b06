"""Finds a Chromium for the browser tests, or installs one: `python -m tests.browser.chromium --install`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find() -> str | None:
    """Path of a Chromium on this machine: TWOPHASES_CHROMIUM, one on the PATH, or Chrome on a Mac."""
    chosen = os.environ.get("TWOPHASES_CHROMIUM")
    found = chosen or next(filter(None, map(shutil.which, _NAMES)), None)
    return found or (str(_MAC) if _MAC.exists() else None)


def install() -> int:
    if find():
        return 0
    apt = shutil.which("apt-get")
    if apt is None:
        return subprocess.call([sys.executable, "-m", "playwright", "install", "chromium"])
    asroot = [] if os.geteuid() == 0 else ["sudo"]
    for command in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
        code = subprocess.call([*asroot, apt, *command])
        if code:
            return code
    return 0 if find() else 1


if __name__ == "__main__":
    sys.exit(install())
