"""How much of a datasheet an engine gets: shares fitted to published measurements, and the clock of its layers."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from pydantic import BaseModel

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.ranges import SECOND, Range
from inference.catalogue import HERE
from inference.catalogue.rows import checked
from inference.files.safe_yaml import read_yaml

Engine = Literal["eager", "serving", "compiled", "llama.cpp", "megakernel"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
FILE = HERE / "efficiency.yaml"


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What is left of the peaks, and what every layer costs on top. Shares are of the datasheet, 0 to 1."""

    bandwidth_share: float
    """e: of the memory bandwidth, while weights and cache are read."""
    flops_share: float
    """Of the dense peak, in the weight matrices."""
    attention_share: float
    """Of the dense peak, in attention over a long prompt."""
    layer_s: float
    """c: seconds every layer of a pass costs beside its bytes and FLOPs: launches, synchronisation, the host."""
    is_overlapped: bool = False
    """An eager stack asks for the next layer while the last one runs: the larger of the two counts, not the sum."""
    is_summed: bool = True
    """A prefill is its weight time plus its compute time. False only at best: the larger, as a roofline has it."""
    decode_rows: int = 0
    """Published decode measurements of this engine on this family of hardware that the shares were fitted to."""
    prefill_rows: int = 0
    """The same of prefill."""
    batch_share: float | None = None
    """e in a step of several sequences, where thin products read slower than one row does; None: as for one."""
    cache_passes: float = 1.0
    """Times a step moves what it reads of the cache: more than once where a growing cache is copied first."""
    is_step_summed: bool = False
    """A decode step, too, reads and then computes: a CPU. An accelerator does both at once."""

    def __post_init__(self) -> None:
        for name in ("bandwidth_share", "flops_share", "attention_share", "batch_share"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {share:g}")
        Range(1, 10).number("cache_passes", self.cache_passes)
        SECOND.number("layer_s", self.layer_s)


AT_BEST = Efficiency(1, 1, 1, 0.0, is_summed=False)
"""The roofline itself: what no engine reaches. For "at best", never a default."""


class EngineFit(BaseModel, extra="forbid", frozen=True):
    """One engine: on hardware without a row of its own, and per family of hardware."""

    general: Efficiency
    families: dict[str, Efficiency]


class Fit(BaseModel, extra="forbid", frozen=True):
    """The whole file."""

    families: dict[str, tuple[str, ...]]
    """Prefixes of hardware ids by family."""
    engines: dict[Engine, EngineFit]
    all_reduce_s: float
    """Seconds of one small all-reduce over NVLink, fitted to the tensor-parallel rows."""


def efficiency(engine: str, hardware: Hardware) -> Efficiency:
    """The fitted defaults; where no published row covers this family, the engine's general ones with no rows."""
    if engine not in ENGINES:
        raise ValueError(f"the engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    fit = fitted().engines[engine]
    return fit.families.get(family(hardware.id) or "", fit.general)


def family(hardware_id: str) -> str | None:
    """The family of hardware whose published rows stand for this machine; None for one of no known family."""
    for name, prefixes in fitted().families.items():
        if hardware_id.startswith(prefixes):
            return name
    return None


@cache
def fitted() -> Fit:
    """What `python -m benchmarks.fit_planner` wrote."""
    return checked(Fit, read_yaml(FILE), FILE.name)
