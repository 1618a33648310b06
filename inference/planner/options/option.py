"""One optimisation of a plan: what it changes, on which condition, at what price. Estimated."""

from dataclasses import dataclass
from typing import Literal

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.links import LINKS, Link
from inference.arithmetic.ranges import SECOND, SHARE, Range
from inference.arithmetic.spec import ModelSpec
from inference.planner.efficiency import Efficiency
from inference.planner.pass_time import Exchange
from inference.planner.plan import Plan

Unit = Literal["s", "tokens/s", "FLOP", "tokens per pass", "conversations"]
_LESS_IS_BETTER: tuple[Unit, ...] = ("s", "FLOP")


@dataclass(frozen=True, slots=True)
class Change:
    """One number of a plan without the optimisation and with it."""

    name: str
    before: float
    after: float
    unit: Unit

    @property
    def gain(self) -> float:
        """Times as good: above 1 it gains, below 1 it loses."""
        if self.before == self.after:
            return 1.0
        good, bad = (self.before, self.after) if self.unit in _LESS_IS_BETTER else (self.after, self.before)
        return good / bad if bad else float("inf")


@dataclass(frozen=True, slots=True)
class Optimisation:
    """One optimisation. Without changes it does nothing here, and `condition` says why."""

    name: str
    lab_path: str
    """The lab that measures it, as its address ends."""
    condition: str
    """What was assumed, and where it holds."""
    changes: tuple[Change, ...]
    price: str

    def change(self, name: str) -> Change:
        for change in self.changes:
            if change.name == name:
                return change
        raise ValueError(
            f"{self.name} has no {name!r}; it changes {', '.join(change.name for change in self.changes)}"
        )


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What no datasheet knows. Every default can be changed."""

    acceptance: float = 0.8
    """a: chance that a drafted token is accepted, whatever came before it."""
    num_drafted: int = 4
    """g: tokens drafted per pass."""
    draft_cost: float = 0.05
    """Time to draft one token over that of a decode step."""
    chunk_tokens: int = 512
    """Of a prompt per mixed pass."""
    num_prompts: int = 4
    """Prompts that wait at the same time."""
    shared_share: float = 0.5
    """Of the prompt that is the same in all conversations and already cached."""
    block_tokens: int = 16
    """Only full blocks of a prefix are found again."""
    link: Link = LINKS[2]
    """Between the machine that prefills and the one that decodes."""
    mask_s: float = 50e-6
    """Seconds to build the mask of one sequence on the host, in no other work's shadow."""

    def __post_init__(self) -> None:
        for name in ("acceptance", "draft_cost", "shared_share"):
            SHARE.number(name, getattr(self, name))
        SECOND.number("mask_s", self.mask_s)
        for name, most in (
            ("num_drafted", 64),
            ("chunk_tokens", 10**6),
            ("num_prompts", 4096),
            ("block_tokens", 4096),
        ):
            Range(1, most).whole(name, getattr(self, name))


def counted(number: int, what: str) -> str:
    """`1 pass`, `4 passes`."""
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith('s') else 's'}"


def pass_inputs(base: Plan) -> tuple[ModelSpec, Hardware, Efficiency, Exchange]:
    """What every pass of this plan is computed with."""
    return base.spec, base.hardware, base.efficiency, base.exchange


def total_tps(base: Plan, *, gap_s: float) -> float:
    """`Plan.tps_total` if the steps brought a token to everybody every `gap_s` seconds."""
    round_s = base.per_replica * base.prompt_s + (base.workload.output_tokens - 1) * gap_s
    return base.tps_total * base.round_s / round_s
