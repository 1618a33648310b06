"""Requests that queue for one server: simulated arrivals, measured service times, and the formulas beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.arithmetic.metrics import percentile

Array = npt.NDArray[np.float64]
LEFT_OUT = (
    "The simulated server gives whole answers, one at a time. One that batches lets a request in at the next step, "
    "and a queue forms only while places in the batch or room for KV caches run out."
)
"""What stands beside every number from `simulate`."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Simulated: how long each request waited before its own work began, in the order of arrival."""

    load: float
    """Share of the time the server is busy: arrivals per second x mean service time."""
    waits_s: tuple[float, ...]
    services_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return sum(self.waits_s) / len(self.waits_s)

    def wait_percentile_s(self, percent: int) -> float:
        return percentile(self.waits_s, percent)


def simulate(services_s: Sequence[float], *, load: float, num_requests: int, seed: int) -> Waits:
    """One server, first in first out, arrivals at random (Poisson) at the rate that gives this load.

    Every request's service time is drawn from `services_s`, in seconds, with replacement. The wait follows from
    the request before (Lindley 1952): what was left of its wait and its work when this one arrived.
    """
    check_load(load)
    times = np.asarray(services_s, dtype=np.float64)
    if times.size == 0 or not (times > 0).all():
        raise ValueError(f"service times must be above 0 seconds, got {list(services_s)[:3]}; measure some first")
    rng = np.random.default_rng(seed)
    services = rng.choice(times, num_requests)
    gaps = rng.exponential(1.0, num_requests)  # drawn for every load alike, so that a slider moves nothing else
    waits = _waits(services, gaps * times.mean() / load) if load else np.zeros(num_requests)
    return Waits(load, tuple(waits.tolist()), tuple(services.tolist()))


def _waits(services: Array, gaps: Array) -> Array:
    """Lindley's recursion w[i+1] = max(0, w[i] + s[i] - gap[i+1]), as a running sum less its lowest point."""
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - gaps[1:])])
    waits: Array = walk - np.minimum.accumulate(walk)
    return waits


def expected_wait_s(services_s: Sequence[float], load: float) -> float:
    """Mean wait by the Pollaczek-Khinchine formula, in seconds: load x E[s^2] / (2 E[s] (1 - load)).

    With equal service times this is M/D/1, load x s / (2 (1 - load)); with exponential ones M/M/1, twice that.
    """
    check_load(load)
    times = np.asarray(services_s, dtype=np.float64)
    return float(load * (times**2).mean() / (2 * times.mean() * (1 - load)))


def check_load(load: float) -> None:
    if not 0 <= load < 1:
        raise ValueError(
            f"load must be from 0 to below 1, got {load}; asked for more than it can do, a server falls behind"
        )
