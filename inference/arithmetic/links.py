"""Moving a KV cache between machines: how large it is, how long a link takes, which link keeps up."""

from dataclasses import dataclass

from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes


@dataclass(frozen=True, slots=True)
class Link:
    """One way to move bytes between two machines or accelerators."""

    name: str
    bandwidth: float
    """Bytes per second in one direction, nominal: protocols leave a little less."""
    source: str


LINKS = (
    Link("10 GbE", 1.25e9, "10 Gbit/s over 8 bits"),
    Link("PCIe 4.0 x16", 32e9, "aiconfigurator, the bus value NVIDIA uses for Gen4 x16"),
    Link("400 Gbit/s InfiniBand", 50e9, "400 Gbit/s over 8 bits"),
    Link("NVLink 4", 450e9, "NVIDIA H100 datasheet: 900 GB/s, both directions added"),
)


def cache_bytes(spec: ModelSpec, prompt_tokens: int) -> float:
    """Bytes a finished prefill hands over; a sliding-window layer keeps its window only."""
    return kv_bytes(spec, context_len=prompt_tokens)


def transfer_s(spec: ModelSpec, prompt_tokens: int, link: Link) -> float:
    """Seconds on the link at its nominal speed, the latency of a first byte left out."""
    return cache_bytes(spec, prompt_tokens) / link.bandwidth


def needed_bandwidth(spec: ModelSpec, prompt_tokens: int, *, prefill_s: float) -> float:
    """Bytes/s at which a link is as fast as one prefill worker that never rests: cache over prefill time."""
    return cache_bytes(spec, prompt_tokens) / prefill_s
