"""What a machine offers: peak FLOP/s, memory bandwidth, memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hardware:
    """One accelerator or machine."""

    id: str
    name: str
    memory_bytes: float | None
    """The vendor's label in 1e9 bytes; None where the buyer chooses. Programs see a little less."""
    bandwidth: float
    """Memory bandwidth, bytes per second."""
    peak_flops: Mapping[str, float] = field(hash=False)
    """Dense peak per dtype ("float32", "float16", "bfloat16", "float8", "int8"), FLOP/s; int8: OP/s.

    A dtype that is missing is unsupported, or its peak was not found in a source.
    """
    source: str
    is_measured: bool = False
    """True for roofs measured on this machine, False for a datasheet."""
    note: str = ""
    estimated_flops: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Guesses for peaks no vendor prints, FLOP/s. Kept apart from `peak_flops`; say so where shown."""
    interconnect: str | None = None
    interconnect_bandwidth: float | None = None
    """To other accelerators, bytes per second in one direction."""
    tdp_w: float | None = None
    """Thermal design power, watts: the most it draws for long. None where no source prints it."""
    is_verified: bool = False
    """Bandwidth and the 16-bit peak were read from a source; False for what a learner typed."""


def ridge_point(hardware: Hardware, dtype: str) -> float:
    """FLOPs per byte where the roofline bends: below it memory is the limit, above it arithmetic."""
    if dtype not in hardware.peak_flops:
        known = ", ".join(hardware.peak_flops) or "none"
        raise ValueError(f"{hardware.name} has no sourced peak for {dtype!r}; known: {known}")
    return hardware.peak_flops[dtype] / hardware.bandwidth
