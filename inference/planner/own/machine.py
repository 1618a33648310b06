"""The machine this runs on as the planner sees one, from its measured roofs alone, held against its own sweeps."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from inference.arithmetic.estimate import CACHE_PASSES
from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.machine.sweeps import Setting, SweepPoint
from inference.planner.deployment import Deployment, exchange_of
from inference.planner.efficiency import Efficiency
from inference.planner.pass_time import decode_pass, prefill_pass
from inference.trace import Phase

_LONG = 128
"""Tokens from which a product's time is arithmetic and grows with them."""
_THIN = range(2, 17)
"""Tokens of a product that is slower than either roof on a CPU: a step of several sequences."""


@dataclass(frozen=True, slots=True)
class OwnPoint:
    """One measured pass of a sweep beside what the planner says of it."""

    setting: Setting
    measured_s: float
    """Median of the sweep's repeats."""
    predicted_s: float
    """Estimated: no share was fitted to any sweep."""

    @property
    def ratio(self) -> float:
        """Predicted over measured: 1 is right, 2 says twice too slow."""
        return self.predicted_s / self.measured_s

    @property
    def error(self) -> float:
        return abs(self.ratio - 1)


def own_machine(spec: ModelSpec, ceilings: Ceilings) -> Hardware:
    """Its measured roofs in the place of a datasheet: the fastest reading and arithmetic seen in any of them."""
    rates = [ceilings.flops, ceilings.attention_flops, *_growth(ceilings)]
    return Hardware(
        id="this-machine",
        name=ceilings.device,
        memory_bytes=None,
        bandwidth=max(ceilings.bandwidth, _weight_rate(spec, ceilings)),
        peak_flops={ceilings.dtype: max(rates)},
        source=f"measured on this machine on {ceilings.measured_on}, {ceilings.threads} threads",
        is_measured=True,
    )


def own_efficiency(spec: ModelSpec, ceilings: Ceilings, *, is_overlapped: bool = False) -> Efficiency:
    """The running engine's shares of those roofs, without a look at any sweep.

    Bandwidth: how fast the model's own matrices are read for one token, and for several less their arithmetic.
    FLOP/s: how a product's time grows with its tokens once it is long, and with it, as the planner has no term for
    them, the norms, activations and sums between the products, which grow alike. Clock: a pass of the same depth
    with next to nothing in it, per layer. The cache moves as often as the estimate says, at the matrices' rate.
    Left out: that a prompt of a few tokens is slower than either roof.

    `is_overlapped`: an accelerator works while Python asks for the next layer; a CPU does one after the other.
    """
    machine = own_machine(spec, ceilings)
    peak, growth = machine.peak_flops[ceilings.dtype], _growth(ceilings)
    per_flop_s = 1 / (median(growth) if growth else ceilings.flops)
    reading_s = [s - 2 * n * per_flop_s for n, s in ceilings.matmul_ladder if n in _THIN]
    thin = [_rate(spec, s) for s in reading_s if s > 0]
    between_s = ceilings.elementwise_s * spec.num_layers * spec.hidden_size
    per_flop_s += between_s / (2 * sum(spec.layer_matmul_params))
    return Efficiency(
        bandwidth_share=min(1.0, _weight_rate(spec, ceilings) / machine.bandwidth),
        flops_share=min(1.0, 1 / (peak * per_flop_s)),
        attention_share=min(1.0, (ceilings.attention_flops or ceilings.flops) / peak),
        layer_s=ceilings.overhead_s / spec.num_layers,
        is_overlapped=is_overlapped,
        batch_share=min(1.0, median(thin) / machine.bandwidth) if thin else None,
        cache_passes=CACHE_PASSES,
        is_step_summed=not is_overlapped,
    )


def held_against(
    spec: ModelSpec, ceilings: Ceilings, points: Iterable[SweepPoint], *, is_overlapped: bool = False
) -> tuple[OwnPoint, ...]:
    """Every measured point of the sweeps beside its prediction, in their order."""
    machine = own_machine(spec, ceilings)
    deployment = Deployment(
        weight_bits=spec.weight_bits,
        kv_bits=spec.kv_bits,
        engine="eager",
        efficiency=own_efficiency(spec, ceilings, is_overlapped=is_overlapped),
    )
    return tuple(
        OwnPoint(point.setting, point.median_s, _predicted_s(spec, machine, deployment, point.setting))
        for point in points
    )


def median_error(points: Iterable[OwnPoint], phase: Phase) -> float:
    """Of one phase, as a share of the measured time."""
    errors = [point.error for point in points if point.setting.phase == phase]
    if not errors:
        raise ValueError(f"no {phase} was measured, so there is no error; run the sweep first")
    return median(errors)


def _predicted_s(spec: ModelSpec, machine: Hardware, deployment: Deployment, setting: Setting) -> float:
    assert deployment.efficiency is not None
    at = (spec, machine, deployment.efficiency, exchange_of(machine, deployment))
    past, fed, batch_size = (
        setting.context_len - setting.num_query_tokens,
        setting.num_query_tokens,
        setting.batch_size,
    )
    if setting.phase == "prefill":
        return prefill_pass(*at, num_tokens=fed, past=past, batch_size=batch_size).total_s
    return decode_pass(*at, context_len=setting.context_len, batch_size=batch_size, num_query_tokens=fed).total_s


def _weight_rate(spec: ModelSpec, ceilings: Ceilings) -> float:
    """Bytes/s at which the model's matrices are read for one token."""
    if not ceilings.matmul_ladder:
        return ceilings.bandwidth
    num_tokens, seconds = ceilings.matmul_ladder[0]
    if num_tokens != 1:
        raise ValueError(f"the first product must be of one token, got {num_tokens}; measure the roofs again")
    return _rate(spec, seconds)


def _rate(spec: ModelSpec, seconds_per_weight: float) -> float:
    """Bytes/s."""
    return spec.weight_bits / 8 / seconds_per_weight


def _growth(ceilings: Ceilings) -> list[float]:
    """FLOP/s of every token but the first, in the long products."""
    if not ceilings.matmul_ladder:
        return []
    first_s = ceilings.matmul_ladder[0][1]
    return [2 * (n - 1) / (s - first_s) for n, s in ceilings.matmul_ladder if n >= _LONG and s > first_s]
