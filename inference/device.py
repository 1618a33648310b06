"""Where a model runs: the device and its name, its number format, and its own clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch


def device_name(device: torch.device) -> str:
    """What the screen calls it: the GPU's name, or the CPU's where the system tells it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "CPU"
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return f"{name} (CPU)" if name else "CPU"


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    if device.type != "cuda":
        return torch.float32  # bfloat16 matrix-vector products are slow on most CPUs
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16


def dtype_named(dtype: str | torch.dtype) -> torch.dtype:
    if isinstance(dtype, torch.dtype):
        return dtype
    names = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype not in names:
        raise ValueError(f"dtype must be one of {', '.join(names)}, got {dtype!r}")
    return names[dtype]


@contextmanager
def cores(most: int) -> Iterator[None]:
    """Let passes use as many cores of the CPU; 0 for all that there are. For the worker alone."""
    before = torch.get_num_threads()
    if most:
        torch.set_num_threads(most)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


class DeviceClock:
    """The device's own time between two points of its stream, by CUDA events."""

    def __init__(self) -> None:
        self._start, self._stop = _event(), _event()

    def start(self) -> None:
        torch.cuda.synchronize()
        self._start.record()

    def stop(self) -> None:
        self._stop.record()

    def seconds(self) -> float:
        self._stop.synchronize()
        return float(self._start.elapsed_time(self._stop)) / 1e3
