"""Peaks that look as if they counted 2:4 sparsity, or another trick that dense matrices do not have.

Datasheets print the rate with half of the weights zero, twice the dense one, often as the only number.
"""

from collections.abc import Iterator

from inference.arithmetic.hardware import Hardware
from inference.catalogue import hardware as catalogue_hardware

LOWEST_RIDGE, HIGHEST_RIDGE = 2, 600
"""FLOP/byte at 16 bits; in the catalogue 76 to 560, and about 10 for a laptop's processor."""
_SAME_MEMORY, _SAME_RATIO = 0.07, 0.03  # how far two datasheets of one chip, and two roundings of a peak, are apart


def peak_warnings(hardware: Hardware) -> tuple[str, ...]:
    """One sentence for each peak of `hardware` that is probably not a dense one."""
    return tuple(_warnings(hardware))


def _warnings(hardware: Hardware) -> Iterator[str]:
    peaks = hardware.peak_flops
    peak = peaks.get("bfloat16", peaks.get("float16"))
    if peak is None:
        return
    if match := next(_multiples(hardware, peak), None):
        row, words = match
        same = "bandwidth" if hardware.memory_bytes is None else "memory and bandwidth"
        yield (
            f"The 16-bit peak of {peak / 1e12:,.4g} TFLOP/s is {words} that of {row.name}, which has the "
            f"same {same}: it probably counts 2:4 sparsity or 16-bit accumulation. Its dense peak is "
            f"{_sixteen_bit(row) / 1e12:,.4g} TFLOP/s."
        )
    if "float8" in peaks and _is(peaks["float8"] / peak, 4):
        yield (
            "The FP8 peak is four times the 16-bit peak; dense it is twice that. It probably counts 2:4 sparsity "
            "or 16-bit accumulation: halve it."
        )
    # GeForce cards accumulate 16-bit products in FP32 at half rate, twice that of their shaders; int8 is not halved
    is_half_rate = "float32" in peaks and _is(peak / peaks["float32"], 2)
    if "int8" in peaks and _is(peaks["int8"] / peak, 4) and not is_half_rate:
        yield (
            "The int8 peak is four times the 16-bit peak; dense it is twice that. It probably counts 2:4 sparsity: "
            "halve it."
        )
    ridge = peak / hardware.bandwidth
    if not LOWEST_RIDGE <= ridge <= HIGHEST_RIDGE:
        yield (
            f"The ridge point is {ridge:,.3g} FLOP/byte; of machines sold it is between {LOWEST_RIDGE} and "
            f"{HIGHEST_RIDGE}. Check that the peak is dense and in TFLOP/s, and the bandwidth in GB/s."
        )


def _multiples(hardware: Hardware, peak: float) -> Iterator[tuple[Hardware, str]]:
    """Catalogued machines with this bandwidth, and this memory if it is known, of which `peak` is twice or four
    times the dense peak."""
    for row in catalogue_hardware().values():
        dense = _sixteen_bit(row)
        is_same = abs(hardware.bandwidth / row.bandwidth - 1) < _SAME_MEMORY and (
            hardware.memory_bytes is None
            or (row.memory_bytes is not None and abs(hardware.memory_bytes / row.memory_bytes - 1) < _SAME_MEMORY)
        )
        for times, words in ((2, "twice"), (4, "four times")):
            if is_same and dense and _is(peak / dense, times):
                yield row, words


def _sixteen_bit(hardware: Hardware) -> float:
    return hardware.peak_flops.get("float16", 0.0)


def _is(ratio: float, times: float) -> bool:
    return abs(ratio / times - 1) < _SAME_RATIO
