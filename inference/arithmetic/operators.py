"""One pass operator by operator: what each costs, which roof holds it, its share of the time. All estimated."""

from dataclasses import dataclass, replace
from typing import Literal

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import Matrix, ModelSpec, num_params
from inference.cost import Work, matmul_work, operator_work

Group = Literal["attention", "MLP", "LM head"]
Bound = Literal["compute", "memory"]


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of operator, over all layers."""

    name: str
    group: Group
    work: Work

    def time_s(self, *, bandwidth: float, flops: float) -> float:
        """The least seconds it takes: its bytes at `bandwidth` bytes/s or its FLOPs at `flops` FLOP/s."""
        return max(self.work.bytes / bandwidth, self.work.flops / flops)

    def bound(self, *, bandwidth: float, flops: float) -> Bound:
        """Which of the two takes longer."""
        return "compute" if self.work.intensity > flops / bandwidth else "memory"


def operators(
    spec: ModelSpec, *, num_query_tokens: int, context_len: int, batch_size: int = 1
) -> tuple[Operator, ...]:
    """The pass by matrix, in the order it runs; the rows add up to `forward_work`.

    Experts are one row: how many of their weights are read depends on the routing of all of them.
    """
    groups = operator_work(spec, num_query_tokens=num_query_tokens, context_len=context_len, batch_size=batch_size)
    num_tokens = num_query_tokens * batch_size
    *inputs, output = (
        Operator(f"{name} projection", "attention", _matrix_work(spec, matrix, num_tokens))
        for name, matrix in zip(_attention_names(spec), spec.attention_matrices, strict=True)
    )
    return (
        *inputs,
        Operator("scores and values", "attention", groups["attention scores and values"]),
        output,
        *_mlp(spec, groups["MLP"], num_tokens),
        Operator("LM head", "LM head", groups["LM head"]),
    )


def shares(rows: tuple[Operator, ...], *, bandwidth: float, flops: float) -> tuple[float, ...]:
    """Of the time estimate, with each operator at its own roof and one after another; they add up to 1."""
    times_s = [row.time_s(bandwidth=bandwidth, flops=flops) for row in rows]
    return tuple(time_s / sum(times_s) for time_s in times_s)


def in_precision(spec: ModelSpec, weight_bits: float) -> ModelSpec:
    """The same shape with weights of another width; cache and activations have at least 16 bits."""
    if weight_bits <= 0:
        raise ValueError(f"weights need bits: got {weight_bits}; choose 32, 16, 8 or 4")
    return replace(spec, weight_bits=weight_bits, kv_bits=max(weight_bits, 16))


def arithmetic_dtype(hardware: Hardware, weight_bits: float) -> str:
    """The dtype whose peak applies: weights below 16 bits are widened before they are multiplied."""
    if weight_bits > 16:
        return "float32"
    return "bfloat16" if "bfloat16" in hardware.peak_flops else "float16"


def _matrix_work(spec: ModelSpec, matrix: Matrix, num_tokens: int) -> Work:
    layers = spec.num_layers
    return matmul_work(
        spec, num_tokens=num_tokens, params=layers * num_params((matrix,)), width=layers * sum(matrix)
    )


def _attention_names(spec: ModelSpec) -> tuple[str, ...]:
    if spec.mla is None:
        return ("query", "key", "value", "output")
    query = ("query",) if spec.mla.q_lora_rank is None else ("query down", "query up")
    return (*query, "latent down", "latent up", "output")


def _mlp(spec: ModelSpec, work: Work, num_tokens: int) -> tuple[Operator, ...]:
    if spec.moe:
        return (Operator("router and experts", "MLP", work),)
    names = ("gate", "up", "down") if spec.is_mlp_gated else ("up", "down")
    return tuple(
        Operator(f"MLP {name}", "MLP", _matrix_work(spec, matrix, num_tokens))
        for name, matrix in zip(names, spec.mlp_matrices, strict=True)
    )
