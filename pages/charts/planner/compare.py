"""What one conversation costs each machine: its prefill and its share of the decode steps, estimated."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent, seconds
from inference.planner.compare import Cost
from pages.charts.palette import COLOURS, INK, PHASES, figure, label, literal

HEIGHT = 250


def plan_compare(costs: Sequence[Cost], names: Sequence[str], longest_s: float) -> go.Figure:
    """A bar per machine, the cheapest on top; hatched as nothing here is measured. `longest_s` ends the axis."""
    chart = figure(height=HEIGHT, x="s of the machine per conversation, estimated", y="")
    for phase in PHASES:
        values = [cost.prefill_s if phase == "prefill" else cost.decode_s for cost in costs]
        chart.add_bar(
            y=list(range(len(costs))),
            x=np.array(values),
            orientation="h",
            width=0.34,
            marker={
                "color": COLOURS[phase],
                "pattern": {"shape": "/", "solidity": 0.25, "size": 6},
                "line": {"color": COLOURS[phase], "width": 1},
            },
            name=phase,
            hovertext=[
                f"{literal(name)}<br>{phase}: {seconds(value)}, {percent(value / cost.total_s)}, estimated"
                for name, value, cost in zip(names, values, costs, strict=True)
            ],
            hoverinfo="text",
        )
    for place, (name, cost) in enumerate(zip(names, costs, strict=True)):
        text = f"{literal(name)}: {seconds(cost.total_s)}"
        label(chart, 0, place, text, colour=INK, xanchor="left", yanchor="bottom", yshift=12)
    chart.update_layout(
        barmode="stack",
        margin={"l": 8, "t": 20},
        xaxis={"range": [0, longest_s * 1.05]},
        yaxis={"range": [len(costs) - 0.6, -0.75], "showticklabels": False, "showgrid": False},
    )
    return chart
