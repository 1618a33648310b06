"""Where and with what a set of measurements was made."""

import datetime
import os
import platform
from importlib.metadata import version

import psutil
import torch

from inference import APP_VERSION
from inference.device import device_name

_PACKAGES = ("torch", "transformers", "streamlit", "plotly", "playwright", "websockets")


def machine() -> dict[str, str | float]:
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpu": device_name(torch.device("cpu")),
        "cores": os.cpu_count() or 0,
        "torch_threads": torch.get_num_threads(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_before": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "two_phases": APP_VERSION,
        **{name: version(name) for name in _PACKAGES},
    }


def cpu_seconds() -> tuple[float, float]:
    """Processor time used so far: by this process and its ended children, and by all programs here.

    What the others took says how far an absolute time can be trusted; ratios are measured side by side.
    """
    ours, everyone = os.times(), psutil.cpu_times()
    return sum(ours[:4]), everyone.user + everyone.system + everyone.nice
