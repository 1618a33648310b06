"""A machine as a link's parameters, and back: one's own by its datasheet, or a measured one with its shares."""

from collections.abc import Mapping
from dataclasses import replace

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import Range, shown
from inference.planner.efficiency import Efficiency
from inference.planner.own.hardware import own_hardware
from inference.planner.own.shape_link import LONGEST_NAME

OWN = "own"
_NAMES = {
    "hw_memory": "memory_gb",
    "hw_bandwidth": "bandwidth_gb_s",
    "hw_tflops": "tflops_16bit",
    "hw_fp8": "tflops_fp8",
    "hw_fp32": "tflops_fp32",
    "hw_link": "link_gb_s",
    "hw_tdp": "tdp_w",
}
_SHARES = {
    "hw_e": "bandwidth_share",
    "hw_batch": "batch_share",
    "hw_flops": "flops_share",
    "hw_attention": "attention_share",
    "hw_layer": "layer_s",
    "hw_cache": "cache_passes",
}
_FLAGS = {"hw_overlap": "is_overlapped", "hw_steps": "is_step_summed"}
_MEASURED_GB_S, _MEASURED_TFLOPS = Range(1e-3, 100_000, "GB/s"), Range(1e-6, 100_000, "TFLOP/s")
"""A measured roof may lie below that of anything sold."""
_LONGEST_NUMBER = 30


def typed_machine(name: str, numbers: Mapping[str, float | None]) -> Hardware:
    """A machine from the numbers of `own_hardware`; memory that is left out is not known."""
    for needed in ("bandwidth_gb_s", "tflops_16bit"):
        if numbers.get(needed) is None:
            raise ValueError(f"{needed} of your own hardware is missing; its datasheet has the number")
    has_memory = numbers.get("memory_gb") is not None
    given = {"memory_gb": 1.0} | {field: value for field, value in numbers.items() if value is not None}
    made = own_hardware(name, **given)
    # its name must not lend it the published rows of a family
    return replace(made, id=OWN, memory_bytes=made.memory_bytes if has_memory else None)


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
    numbers: dict[str, float | None] = dict(machine_numbers(own))
    names = dict(_NAMES)
    if measured:
        names |= _SHARES | _FLAGS
        numbers |= {field: getattr(measured, field) for field in (*_SHARES.values(), *_FLAGS.values())}
    pairs = ((name, numbers[field]) for name, field in names.items())
    return [("hw_name", own.name[:LONGEST_NAME]), *((name, spelled(v)) for name, v in pairs if v is not None)]


def machine_from_query(query: Mapping[str, str]) -> tuple[Hardware, Efficiency | None]:
    """What `machine_query` wrote. A `ValueError` names what is missing, no number or out of range."""
    numbers = {field: _number(query, name) for name, field in _NAMES.items()}
    name = query.get("hw_name", "")
    if "hw_e" not in query:
        return typed_machine(name, numbers), None
    bandwidth = _MEASURED_GB_S.number("hw_bandwidth", numbers["bandwidth_gb_s"])
    tflops = _MEASURED_TFLOPS.number("hw_tflops", numbers["tflops_16bit"])
    plain = typed_machine(name, {"bandwidth_gb_s": 1000, "tflops_16bit": 1})  # for the check of its name
    machine = replace(
        plain,
        bandwidth=bandwidth * 1e9,
        peak_flops=dict.fromkeys(plain.peak_flops, tflops * 1e12),
        is_measured=True,
    )
    shares = {field: _number(query, name) for name, field in _SHARES.items()}
    if missing := [name for name, field in _SHARES.items() if shares[field] is None and field != "batch_share"]:
        raise ValueError(f"{', '.join(missing)} is missing; copy the whole link")
    flags = {field: _number(query, name) == 1 for name, field in _FLAGS.items()}
    return machine, Efficiency(**shares, **flags)  # type: ignore[arg-type]  # all but the batch's are there


def spelled(value: float) -> str:
    """A number without loss: 16.0 is 16."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def parsed(text: str) -> float:
    """What `spelled` wrote, a whole number as one. ValueError for anything else."""
    if not text.isascii() or len(text) > _LONGEST_NUMBER or "_" in text:
        raise ValueError(text)
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isdigit() else float(text)


def _number(query: Mapping[str, str], name: str) -> float | None:
    if name not in query:
        return None
    try:
        return parsed(query[name])
    except ValueError:
        raise ValueError(f"{name} must be a number, got {shown(query[name])}") from None
