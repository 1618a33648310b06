"""What is asked for and how it is served: the workload, the deployment, and whether it fits."""

from dataclasses import dataclass, replace

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.links import LINKS
from inference.arithmetic.ranges import SECOND, Range
from inference.arithmetic.spec import ModelSpec
from inference.cost import kv_bytes
from inference.kv_cache.growth import MOST_CONVERSATIONS, MOST_TOKENS, in_bits
from inference.planner.efficiency import ENGINES, Efficiency, fitted
from inference.planner.pass_time import Exchange, cache_share

BITS = Range(0.5, 64, "bits")
PER_NODE = 8
MOST_PARTS = 4096
"""Accelerators, stages or replicas that may be asked for."""
_TOKENS, _USERS, _PARTS = Range(1, MOST_TOKENS), Range(1, MOST_CONVERSATIONS), Range(1, MOST_PARTS)
_LINK = Range(1e6, 1e14, "bytes/s")
NVLINK_BANDWIDTH = 100e9
"""Bytes/s per direction: below it a link is PCIe or Ethernet, and the fitted latency does not speak for it."""
INSIDE_S, ACROSS_S = 10e-6, 30e-6
"""Assumed seconds of a small all-reduce over PCIe inside a node, and between nodes."""
ACROSS_BANDWIDTH = LINKS[2].bandwidth
"""Assumed bytes/s between nodes: a port of 400 Gbit/s for every accelerator."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Conversations that are all alike, `concurrency` of them always under way."""

    prompt_tokens: int
    output_tokens: int
    concurrency: int = 1

    def __post_init__(self) -> None:
        _TOKENS.whole("prompt_tokens", self.prompt_tokens)
        _TOKENS.whole("output_tokens", self.output_tokens)
        _USERS.whole("concurrency", self.concurrency)

    @property
    def full_context(self) -> int:
        """Tokens in a cache once the answer is whole."""
        return self.prompt_tokens + self.output_tokens

    @property
    def middle_context(self) -> int:
        """Tokens in a cache halfway through the answer, where a mean step stands."""
        return max(1, self.prompt_tokens + self.output_tokens // 2)


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a model is served."""

    weight_bits: float = 16
    kv_bits: float = 16
    tensor_parallel: int = 1
    engine: str = "serving"
    pipeline_parallel: int = 1
    replicas: int = 1
    all_reduce_s: float | None = None
    """Seconds of one small all-reduce; None: fitted for NVLink, assumed for other links."""
    link_bandwidth: float | None = None
    """Bytes per second in one direction; None: the hardware's own."""
    efficiency: Efficiency | None = None
    """None: the fitted values of this engine on this hardware."""

    def __post_init__(self) -> None:
        for name in ("weight_bits", "kv_bits"):
            BITS.number(name, getattr(self, name))
        for name in ("tensor_parallel", "pipeline_parallel", "replicas"):
            _PARTS.whole(name, getattr(self, name))
        if self.engine not in ENGINES:
            raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {self.engine!r}")
        if self.all_reduce_s is not None:
            SECOND.number("all_reduce_s", self.all_reduce_s)
        if self.link_bandwidth is not None:
            _LINK.number("link_bandwidth", self.link_bandwidth)

    @property
    def num_accelerators(self) -> int:
        return self.tensor_parallel * self.pipeline_parallel * self.replicas


@dataclass(frozen=True, slots=True)
class Memory:
    """The ledger of one replica, all its accelerators together, in bytes."""

    total_bytes: float | None
    """By the vendor's label; None where the buyer chooses. Activations and the program itself are left out."""
    weight_bytes: float
    cache_bytes: float
    """Of all its conversations at their full length."""
    conversation_bytes: float
    """One of them."""

    @property
    def rest_bytes(self) -> float | None:
        """Left over; below 0, missing."""
        return None if self.total_bytes is None else self.total_bytes - self.weight_bytes - self.cache_bytes

    @property
    def conversations(self) -> int | None:
        """How many fit beside the weights."""
        if self.total_bytes is None:
            return None
        return max(0, int((self.total_bytes - self.weight_bytes) // self.conversation_bytes))

    @property
    def fits(self) -> bool:
        """Weights and all conversations; True where the memory is not known."""
        return self.rest_bytes is None or self.rest_bytes >= 0


def exchange_of(hardware: Hardware, deployment: Deployment) -> Exchange:
    """The link between accelerators: the deployment's, else the hardware's own or the network's."""
    own, is_across = hardware.interconnect_bandwidth, deployment.tensor_parallel > PER_NODE
    if is_across and own is not None:
        own = min(own, ACROSS_BANDWIDTH)
    link, latency = deployment.link_bandwidth or own, deployment.all_reduce_s
    if latency is None:
        is_nvlink = link is not None and link >= NVLINK_BANDWIDTH
        latency = ACROSS_S if is_across else fitted().all_reduce_s if is_nvlink else INSIDE_S
    return Exchange(latency, link)


def served(spec: ModelSpec, deployment: Deployment) -> ModelSpec:
    """The model in the deployment's widths."""
    return in_bits(spec, weight_bits=deployment.weight_bits, kv_bits=deployment.kv_bits)


def memory(spec: ModelSpec, hardware: Hardware, workload: Workload, deployment: Deployment) -> Memory:
    """The ledger of the busiest replica. A cache with fewer KV heads than accelerators is kept several times."""
    spec, ways, stages = served(spec, deployment), deployment.tensor_parallel, deployment.pipeline_parallel
    copies = ways * cache_share(spec, ways)
    conversation_bytes = kv_bytes(spec, context_len=workload.full_context) * copies
    label = hardware.memory_bytes
    return Memory(
        total_bytes=None if label is None else label * ways * stages,
        weight_bytes=spec.weight_bytes,
        cache_bytes=conversation_bytes * share_out(workload.concurrency, deployment.replicas),
        conversation_bytes=conversation_bytes,
    )


def smallest_fit(spec: ModelSpec, hardware: Hardware, workload: Workload, deployment: Deployment) -> int | None:
    """The least tensor parallelism, a power of two that divides the heads, that holds weights and caches."""
    ways = 1
    while spec.num_query_heads % ways == 0:
        if memory(spec, hardware, workload, replace(deployment, tensor_parallel=ways)).fits:
            return ways
        ways *= 2
    return None


def share_out(number: int, parts: int) -> int:
    """What the busiest of the parts gets."""
    return -(-number // parts)


def check_split(spec: ModelSpec, deployment: Deployment) -> None:
    """Refuse a split that cuts a head or leaves a stage without a layer."""
    ways, stages = deployment.tensor_parallel, deployment.pipeline_parallel
    heads = spec.num_query_heads
    if heads % ways:
        ok = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
        raise ValueError(f"tensor_parallel {ways} does not divide {spec.name}'s {heads} query heads; choose {ok}")
    if stages > spec.num_layers:
        raise ValueError(
            f"pipeline_parallel {stages} is more than {spec.name}'s {spec.num_layers} layers; choose fewer stages"
        )
