"""The simulation against the two-process run it should foretell: both numbers and the error."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from inference.arithmetic.metrics import Request, duration_s, itl_s, percentile, ttft_s
from inference.disaggregation.fleet import Fleet, simulate
from inference.disaggregation.pace import MeasuredPace
from inference.disaggregation.records import Arrangement, ArrangementComparison, is_done, requests

_ALONE = {"colocated": (2, 0), "disaggregated": (1, 1)}


@dataclass(frozen=True, slots=True)
class SimulatedFigure:
    """One figure of one arrangement, in seconds."""

    arrangement: Arrangement
    name: str
    measured_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        """simulated / measured - 1."""
        return self.simulated_s / self.measured_s - 1


def pace(comparison: ArrangementComparison) -> MeasuredPace:
    """Fitted to the passes that the workers timed before the requests came."""
    return MeasuredPace(comparison.step_times.prefill, comparison.step_times.decode)


def measured_link(comparison: ArrangementComparison) -> float | None:
    """Bytes per second between the two processes, the median over transfers; None before there is one."""
    served = comparison.of("disaggregated")
    if not served or not served.transfers:
        return None
    return statistics.median(
        transfer.num_bytes / (transfer.end_s - transfer.start_s) for transfer in served.transfers
    )


def check(comparison: ArrangementComparison, bytes_per_token: float) -> tuple[SimulatedFigure, ...]:
    """Every figure of the arrangements that were served to the end."""
    figures = []
    for served in comparison.served:
        if not is_done(served, comparison.asks):
            continue
        seen = list(requests(served, comparison.asks).values())
        prefill, decode = _ALONE[served.arrangement]
        fleet = Fleet(prefill, decode, link=measured_link(comparison) or float("inf"))
        foretold = simulate(comparison.asks, fleet, pace(comparison), bytes_per_token=bytes_per_token)
        measured, simulated = _figures(seen), _figures(foretold)
        figures += [SimulatedFigure(served.arrangement, name, measured[name], simulated[name]) for name in measured]
    return tuple(figures)


def _figures(seen: Sequence[Request]) -> dict[str, float]:
    gaps = [gap for request in seen for gap in itl_s(request)]
    figures = {"mean TTFT": statistics.fmean(map(ttft_s, seen))}
    if gaps:
        figures |= {f"ITL p{percent}": percentile(gaps, percent) for percent in (50, 95, 99)}
    return figures | {"time for all": duration_s(seen)}
