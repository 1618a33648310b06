"""A decode step by batch: what is shared, what is not, and where the weights stop being the cost."""

from dataclasses import dataclass

from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.machine.sweeps import SweepPoint


@dataclass(frozen=True, slots=True)
class BatchCost:
    """One batch size: the floors of its pass by the measured roofs, estimated."""

    batch_size: int
    weights_s: float
    """Reading every weight once, whatever the batch."""
    arithmetic_s: float
    kv_share: float
    """Of the bytes."""


def batch_cost(point: SweepPoint, spec: ModelSpec, ceilings: Ceilings) -> BatchCost:
    work = point.setting.work(spec)
    return BatchCost(
        point.setting.batch_size,
        work.weight_bytes / ceilings.bandwidth,
        work.flops / ceilings.flops,
        work.kv_read_bytes / work.bytes,
    )


def crossover_batch(ridge_point: float, weight_bits: float) -> float:
    """The batch from which the linear layers' arithmetic takes longer than reading their weights.

    A weight of b bytes is read once for 2 FLOPs per sequence: ridge point x b / 2.
    """
    return ridge_point * weight_bits / 8 / 2


def tokens_per_s(point: SweepPoint) -> float:
    """Of all sequences together, from the median pass."""
    return point.setting.batch_size / point.median_s
