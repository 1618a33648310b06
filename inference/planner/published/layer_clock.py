"""The clock of an eager stack: published passes that take as long as their layers are many, whatever is in them."""

from dataclasses import dataclass
from functools import cache

from inference.planner.efficiency import AT_BEST
from inference.planner.published.error import predicted_s
from inference.planner.published.runs import PublishedRun, fitting_runs, published_runs, shown_runs


@dataclass(frozen=True, slots=True)
class ClockRow:
    """One pass, measured by others, beside the roofline's floor under it, estimated."""

    run: PublishedRun
    """With its source, its conditions, and `kind`: a decode step, or a prefill."""
    floor_s: float
    """The same pass at full bandwidth and dense peak."""
    is_held_back: bool
    """The planner's clock was not fitted to this row."""

    @property
    def layer_s(self) -> float:
        """Measured seconds of the pass over its layers."""
        return self.run.seconds / self.run.spec.num_layers

    @property
    def times_floor(self) -> float:
        """How much longer it takes than bytes and FLOPs need: near 1 the clock is hidden."""
        return self.run.seconds / self.floor_s


@dataclass(frozen=True, slots=True)
class Contrast:
    """The smallest and the largest model that one source ran on one machine, a sequence at a time."""

    small: ClockRow
    large: ClockRow

    @property
    def params_ratio(self) -> float:
        return self.large.run.spec.total_params / self.small.run.spec.total_params

    @property
    def layers_ratio(self) -> float:
        return self.large.run.spec.num_layers / self.small.run.spec.num_layers

    @property
    def seconds_ratio(self) -> float:
        """Measured: close to the ratio of the layers, far from that of the parameters."""
        return self.large.run.seconds / self.small.run.seconds


@cache
def rows() -> tuple[ClockRow, ...]:
    """Every usable published pass of an eager stack, rows held back too; by machine, then by parameters."""
    fitted = {run.id for run in fitting_runs()}
    eager = (run for run in (*published_runs(), *shown_runs()) if run.engine == "eager")
    ordered = sorted(eager, key=lambda run: (run.kind, run.hardware.name, run.spec.total_params, run.batch_size))
    return tuple(ClockRow(run, predicted_s(run, AT_BEST), run.id not in fitted) for run in ordered)
