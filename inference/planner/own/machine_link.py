"""A machine as a link's parameters, and back: one's own by its datasheet, or a measured one with its shares."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range, shown
from inference.planner.efficiency import Efficiency
from inference.planner.own.hardware import LONGEST_NAME, own_hardware
from inference.run.link import Parameter, parsed, read, spelled, written

OWN = "own"


def _number(name: str, attribute: str, *, is_needed: bool = False) -> Parameter:
    """Any number, called by its parameter; what it may be is known where the machine is made."""

    def read_number(text: str) -> float:
        try:
            return parsed(text)
        except ValueError:
            raise ValueError(f"{name} must be a number, got {shown(text)}") from None

    return Parameter(name, attribute, read_number, spelled, is_needed)


_DATASHEET = (
    _number("hw_memory", "memory_gb"),
    _number("hw_bandwidth", "bandwidth_gb_s"),
    _number("hw_tflops", "tflops_16bit"),
    _number("hw_fp8", "tflops_fp8"),
    _number("hw_fp32", "tflops_fp32"),
    _number("hw_link", "link_gb_s"),
    _number("hw_tdp", "tdp_w"),
)
_SHARES = (
    _number("hw_e", "bandwidth_share"),
    _number("hw_batch", "batch_share"),
    _number("hw_flops", "flops_share", is_needed=True),
    _number("hw_attention", "attention_share", is_needed=True),
    _number("hw_layer", "layer_s", is_needed=True),
    _number("hw_cache", "cache_passes", is_needed=True),
)
_FLAGS = (_number("hw_overlap", "is_overlapped"), _number("hw_steps", "is_step_summed"))
_MEASURED_GB_S, _MEASURED_TFLOPS = Range(1e-3, 100_000, "GB/s"), Range(1e-6, 100_000, "TFLOP/s")
"""A measured roof may lie below that of anything sold."""


def typed_machine(name: str, numbers: Mapping[str, float | None]) -> Hardware:
    """A machine from the numbers of `own_hardware`; memory that is left out is not known."""
    for needed in ("bandwidth_gb_s", "tflops_16bit"):
        if numbers.get(needed) is None:
            raise ValueError(f"{needed} of your own hardware is missing; its datasheet has the number")
    has_memory = numbers.get("memory_gb") is not None
    known = {field: value for field, value in numbers.items() if value is not None}
    machine = own_hardware(name, **{"memory_gb": 1.0, **known})
    # its name must not lend it the published rows of a family
    return replace(machine, id=OWN, memory_bytes=machine.memory_bytes if has_memory else None)


def machine_numbers(own: Hardware) -> dict[str, float | None]:
    """The numbers that `typed_machine` makes this machine of. Its first known peak stands for 16 bits."""
    link = own.interconnect_bandwidth
    tflops = {dtype: peak / 1e12 for dtype, peak in own.peak_flops.items()}
    sixteen = next((tflops[dtype] for dtype in ("float16", "bfloat16", "float32") if dtype in tflops), None)
    return {
        "memory_gb": None if own.memory_bytes is None else own.memory_bytes / 1e9,
        "bandwidth_gb_s": own.bandwidth / 1e9,
        "tflops_16bit": sixteen,
        "tflops_fp8": tflops.get("float8"),
        "tflops_fp32": tflops.get("float32"),
        "link_gb_s": None if link is None else link / 1e9,
        "tdp_w": own.tdp_w,
    }


def machine_query(own: Hardware, measured: Efficiency | None) -> list[tuple[str, str]]:
    """Name and numbers; of a measured machine also the shares that stand in for fitted ones."""
    numbers = written(_DATASHEET, machine_numbers(own).get)
    shares = written(_SHARES + _FLAGS, partial(getattr, measured)) if measured else []
    return [("hw_name", own.name[:LONGEST_NAME]), *numbers, *shares]


def machine_from_query(query: Mapping[str, str]) -> tuple[Hardware, Efficiency | None]:
    """What `machine_query` wrote. A `ValueError` names what is missing, no number or out of range."""
    name, numbers = query.get("hw_name", ""), read(_DATASHEET, query)
    if "hw_e" not in query:
        return typed_machine(name, numbers), None
    bandwidth = _MEASURED_GB_S.number("hw_bandwidth", numbers.get("bandwidth_gb_s"))
    tflops = _MEASURED_TFLOPS.number("hw_tflops", numbers.get("tflops_16bit"))
    plain = typed_machine(name, {"bandwidth_gb_s": 1000, "tflops_16bit": 1})  # for the check of its name
    machine = replace(
        plain,
        bandwidth=bandwidth * 1e9,
        peak_flops=dict.fromkeys(plain.peak_flops, tflops * 1e12),
        is_measured=True,
    )
    flags = {attribute: number == 1 for attribute, number in read(_FLAGS, query).items()}
    return machine, Efficiency(**read(_SHARES, query), **flags)
