"""Measured passes among the roofs: how much of its roof each reaches, and where the rest of its time goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from inference.arithmetic.roofline import Ceilings, Explained, Floors, attainable, explained, floors, share_of_roof
from inference.arithmetic.spec import ModelSpec
from inference.cost import Work
from inference.jobs.drive import Drive
from inference.jobs.experiments import Job, Report, Reports
from inference.machine.sweeps import Setting, Sweep, SweepPoint

if TYPE_CHECKING:
    from inference.engine import Engine
    from inference.jobs.limits import Limits

MOST_BANDWIDTH = 100e12  # bytes/s; the fastest memory in the catalogue reads 8e12
MOST_ABOVE = 1.5
"""A pass may be this many times above its roof, for what a processor cache gives; beyond it the roof is wrong."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One measured pass and the work it is estimated to have done: a point of the roofline."""

    point: SweepPoint
    work: Work

    @property
    def rate(self) -> float:
        """FLOP/s: estimated FLOPs over the measured median."""
        return self.work.flops / self.point.median_s

    def explained(self, ceilings: Ceilings) -> Explained:
        return explained(self.work, self.point.median_s, ceilings)

    def share(self, ceilings: Ceilings) -> float:
        """Of its roof, by the measured median."""
        return share_of_roof(self.work, self.point.median_s, ceilings)

    def overhead_roof(self, ceilings: Ceilings) -> float:
        """FLOP/s this work reaches when its pass takes the overhead and no longer."""
        return self.work.flops / ceilings.overhead_s


def place(*sweeps: Sweep | None) -> tuple[Placed, ...]:
    """Every point of these sweeps."""
    return tuple(
        Placed(point, work_of(sweep.spec, point.setting)) for sweep in sweeps if sweep for point in sweep.points
    )


@lru_cache(maxsize=8192)
def work_of(spec: ModelSpec, setting: Setting) -> Work:
    """The estimated work of one setting."""
    return setting.work(spec)


@dataclass(frozen=True, slots=True)
class Reasons:
    """Where the time of one measured pass goes, as far as floors can say. All but the first are estimated."""

    measured_s: float
    least: Floors
    slower_s: float
    """Over the roofs: its products at this many tokens, its attention and element-wise work, at measured rates."""

    @property
    def roof_s(self) -> float:
        """What arithmetic and bytes need at the roofs: the longer of the two."""
        return max(self.least.compute_s, self.least.memory_s)

    @property
    def rest_s(self) -> float:
        """What is left unexplained; below 0, the parts overlap."""
        return self.measured_s - self.roof_s - self.least.overhead_s - self.slower_s


def reasons(placed: Placed, spec: ModelSpec, ceilings: Ceilings) -> Reasons:
    least, likely = floors(placed.work, ceilings), placed.point.setting.estimate(spec, ceilings)
    slower_s = likely.total_s - likely.overhead_s - max(least.compute_s, least.memory_s)
    return Reasons(placed.point.median_s, least, max(slower_s, 0.0))


def doubt(ceilings: Ceilings, placed: Sequence[Placed] = ()) -> str:
    """Why these roofs must not be drawn, as a sentence; empty if they can be believed."""
    for name, value, unit in (
        ("bandwidth", ceilings.bandwidth, "bytes/s"),
        ("matmul rate", ceilings.flops, "FLOP/s"),
        ("overhead", ceilings.overhead_s, "s"),
    ):
        if not (math.isfinite(value) and value > 0):
            return f"The measured {name} is {value:g} {unit}, which cannot be; {_AGAIN}"
    if ceilings.bandwidth > MOST_BANDWIDTH:
        return (
            f"The measured bandwidth is {ceilings.bandwidth / 1e12:,.0f} TB/s, more than any memory reads "
            f"({MOST_BANDWIDTH / 1e12:.0f} TB/s is the limit here); {_AGAIN}"
        )
    above = [(dot.rate / attainable(dot.work.intensity, ceilings.bandwidth, ceilings.flops), dot) for dot in placed]
    times, highest = max(above, key=lambda pair: pair[0], default=(0.0, None))
    if highest is None or times <= MOST_ABOVE:
        return ""
    name = words(highest.point.setting)
    return f"A measured {name} lies {times:.1f} times above its roof, so the roof is wrong; {_AGAIN}"


_AGAIN = "no roof is drawn. Measure the roofs again on Start here."


def words(setting: Setting) -> str:
    """`prefill of 512 tokens`, `decode at batch 8`."""
    if setting.phase == "decode":
        return f"decode at batch {setting.batch_size}"
    return f"prefill of {setting.num_query_tokens:,} token{'s' * (setting.num_query_tokens > 1)}"


def roofs_job(dtype: str) -> Job[Ceilings]:
    """This machine's roofs in another dtype than the model runs in."""

    def run(engine: Engine) -> Reports[Ceilings]:
        from inference.machine.ceilings import measure  # noqa: PLC0415  # pages import this module, and must not wait for torch

        drive = Drive(measure(engine.in_dtype(dtype)))
        for fraction in drive:
            yield Report(fraction, doing=f"roofs in {dtype}")
        return drive.result

    def begin(engine: Engine, limits: Limits) -> Reports[Ceilings]:
        needed = 2 * engine.spec.weight_bytes  # a copy, and then the copy in the other format
        available = _available_bytes(engine)
        if available is not None and needed > available:
            raise ValueError(
                f"a copy of the model in {dtype} needs up to {needed / 1e9:,.1f} GB for a moment, and "
                f"{available / 1e9:,.1f} GB are free on this machine; choose a smaller model"
            )
        return run(engine)

    return Job(f"roofs in {dtype}", Ceilings, begin)


def _available_bytes(engine: Engine) -> float | None:
    """Free memory of the device; None where the system does not say."""
    if engine.device.type == "cuda":
        import torch  # noqa: PLC0415

        return float(torch.cuda.mem_get_info(engine.device)[0])
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
