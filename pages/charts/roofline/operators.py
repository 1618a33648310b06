"""FLOPs per byte of each operator, in both phases, on either side of a machine's ridge. All estimated."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.operators import Operator
from inference.arithmetic.units import significant
from inference.trace import Phase
from pages.charts.factors import log_label, log_range
from pages.charts.palette import COLOURS, DASHED, ESTIMATE, HAIRLINE, MARKS, figure, literal

_ROW = 27  # pixels


def intensities(rows: dict[Phase, Sequence[Operator]], ridge: float | None) -> go.Figure:
    """A line per operator from decode's intensity to prefill's; left of the ridge memory is the limit.

    The marks are hollow: nothing here was measured. `ridge` in FLOP per byte, None for a machine without a peak.
    """
    names = [row.name for row in next(iter(rows.values()))]
    chart = figure(height=64 + _ROW * len(names), x="FLOP per byte, estimated", y="")
    values = {phase: np.array([row.work.intensity for row in some]) for phase, some in rows.items()}
    for place in range(len(names)):
        chart.add_scatter(
            x=np.array([some[place] for some in values.values()]),
            y=np.array([place] * len(values)),
            mode="lines",
            line={"color": HAIRLINE, "width": 3},
            hoverinfo="skip",
        )
    for phase, some in values.items():
        chart.add_scatter(
            x=some,
            y=np.arange(len(names)),
            mode="markers",
            marker={"color": COLOURS[phase], "symbol": f"{MARKS[phase]}-open", "size": 10, "line": {"width": 2}},
            name=phase,
            hovertext=[f"{name}, {phase}: {significant(x)} FLOP/byte" for name, x in zip(names, some, strict=True)],
            hoverinfo="text",
        )
    everything = [float(value) for some in values.values() for value in some] + ([ridge] if ridge else [])
    _name_phases(chart, values)
    if ridge:
        _ridge(chart, ridge, len(names))
    chart.update_xaxes(type="log", dtick=1, range=log_range(everything, below=2, above=3))
    chart.update_yaxes(
        tickvals=np.arange(len(names)),
        ticktext=[literal(name) for name in names],
        range=[len(names) - 0.5, -1.1],
        showgrid=False,
    )
    chart.update_layout(margin={"l": 124, "t": 4})
    return chart


def _name_phases(chart: go.Figure, values: "dict[Phase, np.ndarray[tuple[int], np.dtype[np.float64]]]") -> None:
    for phase, some in values.items():
        log_label(chart, float(some[0]), -0.7, phase, on="x", colour=COLOURS[phase], size=12)


def _ridge(chart: go.Figure, ridge: float, num_rows: int) -> None:
    chart.add_scatter(
        x=np.array([ridge, ridge]),
        y=np.array([-0.5, num_rows - 0.5]),
        mode="lines",
        line=DASHED,
        name="ridge",
        hovertemplate="ridge: %{x:.3g} FLOP/byte<extra></extra>",
    )
    log_label(chart, ridge, -0.7, f"ridge {significant(ridge)}", on="x", colour=ESTIMATE, size=12)
