"""Seconds of one prefill or decode pass on given hardware: bytes, FLOPs, layers and exchanges. Estimated."""

from dataclasses import dataclass

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Regime
from inference.arithmetic.spec import ModelSpec
from inference.cost import forward_work, operator_work
from inference.planner.efficiency import Efficiency


@dataclass(frozen=True, slots=True)
class Exchange:
    """What tensor parallelism adds: two all-reduces per layer, each a latency and its bytes on the link."""

    all_reduce_s: float
    """Latency of one small all-reduce, seconds."""
    link_bandwidth: float | None
    """Bytes per second in one direction; None leaves the bytes' own time out."""

    def seconds(self, spec: ModelSpec, num_tokens: int, ways: int) -> float:
        """Of a whole pass over `ways` accelerators. A ring moves 2 (t-1)/t of the message past each of them."""
        if ways == 1:
            return 0.0
        message = 2.0 * num_tokens * spec.hidden_size  # 16-bit hidden states
        moved_s = 0.0 if self.link_bandwidth is None else 2 * (ways - 1) / ways * message / self.link_bandwidth
        return 2 * spec.num_layers * (self.all_reduce_s + moved_s)


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds of one pass by what takes them, and how they add up."""

    memory_s: float
    """Reading weights and cache."""
    compute_s: float
    layers_s: float
    """c x layers."""
    exchange_s: float
    is_summed: bool
    """Memory and compute follow one another (a prefill) instead of hiding the shorter behind the longer."""
    is_overlapped: bool
    """The layers' clock runs beside the work (eager)."""

    @property
    def work_s(self) -> float:
        """Bytes and FLOPs together."""
        if self.is_summed:
            return self.memory_s + self.compute_s
        return max(self.memory_s, self.compute_s)

    @property
    def total_s(self) -> float:
        clock = max(self.work_s, self.layers_s) if self.is_overlapped else self.work_s + self.layers_s
        return clock + self.exchange_s

    @property
    def parts(self) -> dict[Regime, float]:
        """The total by the limit that takes it; 0 for what hides behind a longer one. Exchanges are overhead."""
        memory_s, compute_s, layers_s = self.memory_s, self.compute_s, self.layers_s
        if not self.is_summed:
            memory_s, compute_s = (0.0, compute_s) if compute_s > memory_s else (memory_s, 0.0)
        if self.is_overlapped and self.work_s > layers_s:
            layers_s = 0.0
        elif self.is_overlapped:
            memory_s = compute_s = 0.0
        return {
            "overhead-bound": layers_s + self.exchange_s,
            "memory-bound": memory_s,
            "compute-bound": compute_s,
        }

    @property
    def regime(self) -> Regime:
        """The limit with the longest part."""
        parts = self.parts
        return max(parts, key=lambda limit: parts[limit])


def decode_pass(
    spec: ModelSpec,
    hardware: Hardware,
    rates: Efficiency,
    exchange: Exchange,
    *,
    context_len: int,
    batch_size: int = 1,
    ways: int = 1,
    num_query_tokens: int = 1,
) -> PassTime:
    """One step of `batch_size` sequences over `ways` tensor-parallel accelerators.

    `num_query_tokens` above 1 is the verification of drafts: several positions per sequence in one pass, and the
    LM head on all of them.
    """
    more_logits = 2.0 * spec.lm_head_params * (num_query_tokens - 1) * batch_size
    work = forward_work(spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size)
    cache = (work.kv_read_bytes * rates.cache_passes + work.kv_write_bytes) * cache_share(spec, ways)
    share = (num_query_tokens * batch_size > 1 and rates.batch_share) or rates.bandwidth_share
    return PassTime(
        memory_s=(work.weight_bytes / ways + cache) / (share * hardware.bandwidth),
        compute_s=(work.flops + more_logits) / (rates.flops_share * peak(spec, hardware, is_optional=True) * ways),
        layers_s=rates.layer_s * spec.num_layers,
        exchange_s=exchange.seconds(spec, num_query_tokens * batch_size, ways),
        is_summed=rates.is_step_summed,
        is_overlapped=rates.is_overlapped,
    )


def prefill_pass(
    spec: ModelSpec,
    hardware: Hardware,
    rates: Efficiency,
    exchange: Exchange,
    *,
    num_tokens: int,
    past: int = 0,
    batch_size: int = 1,
    ways: int = 1,
) -> PassTime:
    """One prefill of `num_tokens` new tokens after `past` cached ones, over `ways` accelerators."""
    parts = operator_work(spec, num_query_tokens=num_tokens, context_len=past + num_tokens, batch_size=batch_size)
    attention = parts.pop("attention scores and values")
    moved = attention.kv_write_bytes + (attention.kv_read_bytes if past else 0)
    weights = sum(part.weight_bytes for part in parts.values())
    linear = sum(part.flops for part in parts.values())
    at_peak = linear / rates.flops_share + attention.flops / rates.attention_share
    return PassTime(
        memory_s=(weights / ways + moved * cache_share(spec, ways)) / (rates.bandwidth_share * hardware.bandwidth),
        compute_s=at_peak / (peak(spec, hardware) * ways),
        layers_s=rates.layer_s * spec.num_layers,
        exchange_s=exchange.seconds(spec, num_tokens * batch_size, ways),
        is_summed=rates.is_summed,
        is_overlapped=rates.is_overlapped,
    )


def mixed_pass(
    spec: ModelSpec,
    hardware: Hardware,
    rates: Efficiency,
    exchange: Exchange,
    *,
    num_tokens: int,
    past: int,
    context_len: int,
    batch_size: int,
    ways: int = 1,
) -> PassTime:
    """A chunk of a prompt after `past` tokens of it, and one token of each of `batch_size` other sequences.

    The weights are read once for both; so are the layers walked through. The step's arithmetic hides behind the
    reading of its caches, or the other way round, as in a step of its own.
    """
    chunk = prefill_pass(spec, hardware, rates, exchange, num_tokens=num_tokens, past=past, ways=ways)
    step = decode_pass(spec, hardware, rates, exchange, context_len=context_len, batch_size=batch_size, ways=ways)
    bandwidth = rates.bandwidth_share * hardware.bandwidth * ways
    read_s = [_weight_bytes(spec, n) / bandwidth for n in (num_tokens, batch_size, num_tokens + batch_size)]
    hidden_s = min(step.memory_s - read_s[1], step.compute_s) if rates.is_summed else 0.0
    return PassTime(
        memory_s=chunk.memory_s + step.memory_s - read_s[0] - read_s[1] + read_s[2],
        compute_s=chunk.compute_s + step.compute_s - hidden_s,
        layers_s=chunk.layers_s,
        exchange_s=exchange.seconds(spec, num_tokens + batch_size, ways),
        is_summed=rates.is_summed,
        is_overlapped=rates.is_overlapped,
    )


def _weight_bytes(spec: ModelSpec, num_tokens: int) -> float:
    """What a pass of that many tokens reads of the weights: all of them, of routed experts the share it touches."""
    return forward_work(spec, num_query_tokens=1, context_len=1, batch_size=num_tokens).weight_bytes


def cache_share(spec: ModelSpec, ways: int) -> float:
    """The part of the cache each of `ways` accelerators holds: no less than one KV head, under MLA all of it."""
    return 1.0 if spec.mla else 1 / min(ways, spec.num_kv_heads)


def peak(spec: ModelSpec, hardware: Hardware, *, is_optional: bool = False) -> float:
    """Dense FLOP/s of the products: 8-bit weights meet 8-bit floats where the hardware has them, else 16 bits.

    A machine without a sourced peak is estimated where its row has an estimate; else a `ValueError` says so, or
    with `is_optional` arithmetic is taken to cost nothing (a decode step seldom waits for it).
    """
    known = {**hardware.estimated_flops, **hardware.peak_flops}
    dtypes = ("float8",) * (spec.weight_bits == 8) + ("float16", "bfloat16", "float32")
    for dtype in dtypes:
        if dtype in known:
            return known[dtype]
    if is_optional:
        return float("inf")
    raise ValueError(
        f"{hardware.name} has no sourced peak FLOP/s, so its prefill can't be predicted; describe it as hardware "
        "of your own, with a peak"
    )
