"""Fit the planner's shares to two thirds of the published runs and write inference/catalogue/efficiency.yaml.

    python -m benchmarks.fit_planner

Per engine class a bandwidth share, a FLOP share, an attention share and a clock per layer; per family of hardware
an offset from them, pulled towards none so that a family with one row does not follow it wherever it goes. The
sum of squared log ratios is minimised, robust against single odd rows. Rows held back are never read.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from scipy.optimize import least_squares

from inference.planner.efficiency import ENGINES, FILE, Efficiency
from inference.planner.published.error import predicted_s
from inference.planner.published.runs import PublishedRun, fitting_runs

Vector = np.ndarray[Any, np.dtype[np.float64]]
Group = tuple[str, str | None, str]

FAMILIES = {
    "a100": ["a100"],
    "hopper": ["h100", "h200"],
    "h20": ["h20-"],
    "blackwell": ["b200", "gb200"],
    "rtx": ["rtx", "l40s", "l4", "a10"],
    "volta-turing": ["v100", "t4"],
    "apple": ["m1", "m2", "m3", "m4"],
    "spark": ["dgx-spark"],
    "amd": ["mi"],
}
"""Prefixes of hardware ids. Cards with GDDR memory go together; no TPU or server CPU has a usable row."""

_NAMES = ("bandwidth_share", "flops_share", "attention_share", "layer_s")
# Where a value would stand without any row, and how far rows may take it (in logits, seconds in logs).
_CENTRES = {"bandwidth_share": 0.75, "flops_share": 0.5, "attention_share": 0.3, "layer_s": 1e-4}
_EAGER_LAYER_S = 7e-4
_PRIOR = 1.0
# How far a family may stand from its engine; all but attention's by five-fold cross-validation on the fitting rows.
_FAMILY = {"bandwidth_share": 0.7, "flops_share": 0.6, "attention_share": 0.3, "layer_s": 0.8}
_TOLERANCE = 0.1  # of a row's log ratio: about 10 %
_ALL_REDUCE_S = 3e-6
_DIGITS = 3


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _forward(name: str, value: float) -> float:
    return math.log(value) if name == "layer_s" else _logit(value)


def _backward(name: str, value: float) -> float:
    return math.exp(value) if name == "layer_s" else 1 / (1 + math.exp(-value))


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in the vector that is fitted."""

    groups: tuple[tuple[str, str], ...]

    def split(self, vector: Vector) -> tuple[dict[tuple[str, str], float], dict[Group, float], float]:
        """Engine values by (engine, name), family offsets by (engine, family, name), log of the all-reduce."""
        values = iter(vector)
        engines = {(str(engine), name): float(next(values)) for engine in ENGINES for name in _NAMES}
        offsets: dict[Group, float] = {
            (*group, name): float(next(values)) for group in self.groups for name in _NAMES
        }
        return engines, offsets, float(next(values))

    @property
    def size(self) -> int:
        return len(_NAMES) * (len(ENGINES) + len(self.groups)) + 1

    def rates(
        self, vector: Vector, groups: Iterable[tuple[str, str | None]]
    ) -> dict[tuple[str, str | None], Efficiency]:
        """Of each engine on each family; on hardware of no family, the engine's own."""
        engines, offsets, _ = self.split(vector)

        def value(name: str, engine: str, family: str | None) -> float:
            offset = offsets.get((engine, family, name), 0.0)
            return _backward(name, _centre(engine, name) + engines[engine, name] + offset)

        return {
            group: Efficiency(
                bandwidth_share=value("bandwidth_share", *group),
                flops_share=value("flops_share", *group),
                attention_share=value("attention_share", *group),
                layer_s=value("layer_s", *group),
                is_overlapped=group[0] == "eager",
            )
            for group in groups
        }


def _centre(engine: str, name: str) -> float:
    is_eager_clock = engine == "eager" and name == "layer_s"
    return _forward(name, _EAGER_LAYER_S if is_eager_clock else _CENTRES[name])


def fit(runs: tuple[PublishedRun, ...]) -> tuple[Layout, Vector]:
    """The vector with the least robust squared error."""
    layout = Layout(tuple(sorted({(run.engine, run.group[1]) for run in runs if run.group[1]})))

    groups = {run.group for run in runs}

    def residuals(vector: Vector) -> Vector:
        engines, offsets, log_exchange = layout.split(vector)
        exchange_s = math.exp(log_exchange) * _ALL_REDUCE_S
        rates = layout.rates(vector, groups)
        rows = [
            math.log(predicted_s(run, rates[run.group], all_reduce_s=exchange_s) / run.seconds) / _TOLERANCE
            for run in runs
        ]
        pulls = [value / _PRIOR for value in engines.values()]
        pulls += [value / _FAMILY[key[2]] for key, value in offsets.items()]
        return np.array([*rows, *pulls, log_exchange / _PRIOR])

    return layout, least_squares(residuals, np.zeros(layout.size), loss="soft_l1").x


def written(runs: tuple[PublishedRun, ...]) -> dict[str, Any]:
    """The file's contents: values to three digits, and how many rows stand behind each family."""
    layout, vector = fit(runs)

    def row(engine: str, family: str | None) -> dict[str, Any]:
        rates = layout.rates(vector, [(engine, family)])[engine, family]
        mine = [run for run in runs if run.group == (engine, family)]
        return {
            **{name: float(f"{getattr(rates, name):.{_DIGITS}g}") for name in _NAMES},
            "is_overlapped": rates.is_overlapped,
            "decode_rows": sum(run.kind in ("decode", "request") for run in mine),
            "prefill_rows": sum(run.kind in ("prefill", "request") for run in mine),
        }

    engines = {
        engine: {
            "general": row(engine, None),
            "families": {family: row(engine, family) for known, family in layout.groups if known == engine},
        }
        for engine in ENGINES
    }
    exchange_s = math.exp(layout.split(vector)[2]) * _ALL_REDUCE_S
    return {"families": FAMILIES, "all_reduce_s": float(f"{exchange_s:.{_DIGITS}g}"), "engines": engines}


_HEAD = """\
# Written by `python -m benchmarks.fit_planner` from the two thirds of published_runs.yaml that are not held back.
# Shares are of the datasheet's bandwidth and dense peak; layer_s is seconds per layer and pass.
# general: the engine on hardware without a row of its own.
"""


if __name__ == "__main__":
    FILE.write_text(_HEAD + yaml.safe_dump(written(fitting_runs()), sort_keys=False), encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))
