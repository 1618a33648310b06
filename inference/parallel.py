"""One decode step split over several accelerators by tensor parallelism: what it should take. Estimated."""

from inference.cost import forward_work
from inference.hardware import Hardware
from inference.spec import ModelSpec

INSIDE_S, ACROSS_S = 10e-6, 30e-6
"""Assumed seconds of one small all-reduce inside a node (NVIDIA aiconfigurator's 10 us, marked non-official there)
and across two nodes (ours). Small messages wait for the latency of the link, not for its bandwidth."""
PER_NODE = 8


def step_s(spec: ModelSpec, hardware: Hardware, ways: int, *, context_len: int = 1) -> float:
    """Seconds at best: each reads 1/ways of all bytes, then every layer waits for two all-reduces."""
    if ways < 1:
        raise ValueError(f"a step needs 1 or more accelerators, got {ways}")
    work = forward_work(spec, num_query_tokens=1, context_len=context_len)
    exchange_s = 0.0 if ways == 1 else INSIDE_S if ways <= PER_NODE else ACROSS_S
    return work.bytes / (ways * hardware.bandwidth) + 2 * spec.num_layers * exchange_s


def message_bytes(spec: ModelSpec, batch_size: int = 1) -> float:
    """What one all-reduce sums: a hidden state per sequence, in 16 bits."""
    return 2.0 * batch_size * spec.hidden_size
