"""Facts of accelerators: peaks, ridge points, and the tokens from which a product is compute-bound. Datasheets."""

from collections.abc import Callable, Iterator
from functools import cache

from inference.batching_cost import crossover_batch
from inference.catalogue import hardware
from inference.fact import Fact
from inference.facts_cache import spec_of
from inference.facts_default import default_bf16
from inference.hardware import Hardware, ridge_point
from inference.spec import Matrix

MACHINES = {
    "rtx_3090": "rtx-3090",
    "rtx_4090": "rtx-4090",
    "rtx_5090": "rtx-5090",
    "a10": "a10",
    "a10g": "a10g",
    "t4": "t4",
    "v100": "v100-sxm2-32gb",
    "l4": "l4",
    "l40s": "l40s",
    "a100": "a100-sxm4-80gb",
    "h100": "h100-sxm-80gb",
    "h100_pcie": "h100-pcie-80gb",
    "h200": "h200-sxm-141gb",
    "b200": "b200-sxm",
    "mi300x": "mi300x",
    "tpu_v5e": "tpu-v5e",
}


@cache
def machine(name: str) -> Hardware:
    return hardware()[MACHINES[name]]


def sixteen_bit(name: str) -> float:
    """Dense peak FLOP/s of the 16-bit type the machine has."""
    peaks = machine(name).peak_flops
    return peaks.get("bfloat16", peaks.get("float16", 0.0))


def ridge(name: str) -> float:
    return ridge_point(machine(name), "bfloat16" if "bfloat16" in machine(name).peak_flops else "float16")


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


def _on(name: str, compute: Callable[[str], float]) -> Callable[[], float]:
    return lambda: compute(name)


def _machine_facts(name: str) -> Iterator[Fact]:
    full = MACHINES[name]
    yield Fact(f"bandwidth_{name}", _on(name, lambda m: machine(m).bandwidth), "rate", f"memory of {full}")
    yield Fact(f"peak_{name}", _on(name, sixteen_bit), "flops", f"dense 16-bit peak of {full}")
    yield Fact(f"memory_{name}", _on(name, lambda m: machine(m).memory_bytes or 0), "bytes", f"memory of {full}")
    yield Fact(f"ridge_{name}", _on(name, ridge), "int", f"FLOP/byte where the roof of {full} bends, 16 bits")
    yield Fact(
        f"crossover_batch_{name}",
        _on(name, lambda m: crossover_batch(ridge(m), 16)),
        "int",
        f"tokens per step from which {full}'s linear layers are compute-bound, 16-bit weights",
    )


_GATE_8B: Callable[[], Matrix] = lambda: spec_of("8b").mlp_matrices[0]  # noqa: E731
_KEY_8B: Callable[[], Matrix] = lambda: spec_of("8b").attention_matrices[1]  # noqa: E731


def _fused_qkv() -> Matrix:
    query, key, value, _ = default_bf16().attention_matrices
    return query[0], query[1] + key[1] + value[1]


_LENGTHS = [
    Fact("crossover_batch_8bit_h100", lambda: crossover_batch(ridge("h100"), 8), "int",
         "the same with 8-bit weights and 16-bit math"),
    Fact("crossover_batch_4bit_h100", lambda: crossover_batch(ridge("h100"), 4), "int",
         "the same with 4-bit weights and 16-bit math"),
    Fact("compute_bound_gate_8b_h100", lambda: compute_bound_tokens(_GATE_8B(), ridge("h100")), "int",
         "tokens from which the 8B's 4,096 x 14,336 matrix is compute-bound on an H100"),
    Fact("compute_bound_key_8b_h100", lambda: compute_bound_tokens(_KEY_8B(), ridge("h100")), "int",
         "tokens from which the 8B's 4,096 x 1,024 matrix is compute-bound on an H100"),
    Fact("compute_bound_query_default_a100",
         lambda: compute_bound_tokens(default_bf16().attention_matrices[0], ridge("a100")), "int",
         "tokens from which the default model's 576 x 576 matrix is compute-bound on an A100; on an H100 never"),
    Fact("most_intensity_key_default", lambda: most_intensity(default_bf16().attention_matrices[1]), "int",
         "FLOP/byte the 576 x 192 matrix approaches alone, however long the prompt, 16 bits"),
    Fact("most_intensity_qkv_default", lambda: most_intensity(_fused_qkv()), "int",
         "the same of query, key and value fused into one 576 x 960 matrix"),
    Fact("compute_bound_qkv_default_h100", lambda: compute_bound_tokens(_fused_qkv(), ridge("h100")), "int",
         "tokens from which that fused matrix is compute-bound at an H100's datasheet peak"),
    Fact("compute_bound_experts_mixtral_h100", lambda: ridge("h100") * _experts_over_active("mixtral"), "int",
         "tokens per step from which Mixtral's experts are compute-bound on an H100"),
    Fact("compute_bound_experts_deepseek_v3_h100", lambda: ridge("h100") * _experts_over_active("deepseek_v3"),
         "int", "tokens per step from which DeepSeek-V3's experts are compute-bound on an H100"),
]  # fmt: skip


def _experts_over_active(name: str) -> float:
    moe = spec_of(name).moe
    assert moe is not None
    return moe.num_experts / moe.experts_per_token


FACTS = [*(fact for name in MACHINES for fact in _machine_facts(name)), *_LENGTHS]
