"""Facts of accelerators: peaks, ridge points, and the tokens from which a product is compute-bound. Datasheets."""

from functools import cache

from inference.arithmetic.hardware import Hardware, ridge_point
from inference.arithmetic.spec import Matrix
from inference.batching.cost import crossover_batch
from inference.catalogue import hardware
from inference.facts.caches import spec_of
from inference.facts.default_model import default_bf16
from inference.facts.fact import Fact

MACHINES = {
    "rtx_5090": "rtx-5090",
    "l40s": "l40s",
    "a100": "a100-sxm4-80gb",
    "h100": "h100-sxm-80gb",
    "h200": "h200-sxm-141gb",
}
"""Their names in facts, and their ids in the catalogue."""


@cache
def machine(name: str) -> Hardware:
    return hardware()[MACHINES[name]]


def memory(name: str) -> float:
    memory_bytes = machine(name).memory_bytes
    assert memory_bytes is not None
    return memory_bytes


def sixteen_bit(name: str) -> float:
    """Dense peak FLOP/s."""
    return machine(name).peak_flops["bfloat16"]


def ridge(name: str) -> float:
    return ridge_point(machine(name), "bfloat16")


def compute_bound_tokens(matrix: Matrix, ridge: float) -> float:
    """Tokens from which a 16-bit product is compute-bound, activations counted; infinite if never.

    n tokens through d_in x d_out: 2 n d_in d_out FLOPs over 2 (d_in d_out + n (d_in + d_out)) bytes.
    """
    inputs, outputs = matrix
    most = 1 - ridge * (1 / inputs + 1 / outputs)
    return ridge / most if most > 0 else float("inf")


def most_intensity(matrix: Matrix) -> float:
    """FLOP/byte that a 16-bit product approaches with ever more rows: 1 / (1 / inputs + 1 / outputs).

    The rows that go in and come out are moved to and from memory, as they are unless a kernel fuses its neighbours.
    """
    return 1 / sum(1 / width for width in matrix)


def _gate() -> Matrix:
    return spec_of("8b").mlp_matrices[0]


def _key() -> Matrix:
    return spec_of("8b").attention_matrices[1]


def _fused_qkv() -> Matrix:
    query, key, value, _ = default_bf16().attention_matrices
    return query[0], query[1] + key[1] + value[1]


def _experts_over_active(name: str) -> float:
    moe = spec_of(name).moe
    assert moe is not None
    return moe.num_experts / moe.experts_per_token


def _sheet(name: str) -> list[Fact]:
    full = MACHINES[name]
    return [
        Fact(f"bandwidth_{name}", lambda: machine(name).bandwidth, "rate", f"memory of {full}"),
        Fact(f"peak_{name}", lambda: sixteen_bit(name), "flops", f"dense 16-bit peak of {full}"),
        Fact(f"ridge_{name}", lambda: ridge(name), "int", f"FLOP/byte where the roof of {full} bends, 16 bits"),
    ]


_MEMORIES = [
    Fact("memory_rtx_5090", lambda: memory("rtx_5090"), "bytes", "memory of an RTX 5090"),
    Fact("memory_l40s", lambda: memory("l40s"), "bytes", "memory of an L40S"),
    Fact("memory_h100", lambda: memory("h100"), "bytes", "memory of an H100"),
    Fact("memory_h200", lambda: memory("h200"), "bytes", "memory of an H200"),
]

_TOKENS = [
    Fact(
        "crossover_batch_a100",
        lambda: crossover_batch(ridge("a100"), 16),
        "int",
        "tokens per step from which an A100's linear layers are compute-bound, 16-bit weights",
    ),
    Fact("crossover_batch_h100", lambda: crossover_batch(ridge("h100"), 16), "int", "the same on an H100"),
    Fact(
        "crossover_batch_8bit_h100",
        lambda: crossover_batch(ridge("h100"), 8),
        "int",
        "the same with 8-bit weights and 16-bit math",
    ),
    Fact(
        "compute_bound_gate_8b_h100",
        lambda: compute_bound_tokens(_gate(), ridge("h100")),
        "int",
        "tokens from which the 8B's 4,096 x 14,336 matrix is compute-bound on an H100",
    ),
    Fact(
        "compute_bound_key_8b_h100",
        lambda: compute_bound_tokens(_key(), ridge("h100")),
        "int",
        "the same of its 4,096 x 1,024 matrix",
    ),
    Fact(
        "most_intensity_key_default",
        lambda: most_intensity(default_bf16().attention_matrices[1]),
        "int",
        "FLOP/byte the 576 x 192 matrix approaches alone, however long the prompt, 16 bits",
    ),
    Fact(
        "most_intensity_qkv_default",
        lambda: most_intensity(_fused_qkv()),
        "int",
        "the same of query, key and value fused into one 576 x 960 matrix",
    ),
    Fact(
        "compute_bound_qkv_default_h100",
        lambda: compute_bound_tokens(_fused_qkv(), ridge("h100")),
        "int",
        "tokens from which that fused matrix is compute-bound at an H100's datasheet peak",
    ),
    Fact(
        "compute_bound_experts_mixtral_h100",
        lambda: ridge("h100") * _experts_over_active("mixtral"),
        "int",
        "tokens per step from which Mixtral's experts are compute-bound on an H100",
    ),
]

FACTS = [*(fact for name in MACHINES for fact in _sheet(name)), *_MEMORIES, *_TOKENS]
