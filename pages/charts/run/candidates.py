"""The most probable next tokens of a pass, what the sampler kept of them, and which was chosen."""

import plotly.graph_objects as go

from inference.arithmetic.units import percent
from inference.trace import Candidate, Step
from pages.charts.palette import (
    CLEAR,
    CODE_FONT,
    COLOURS,
    ESTIMATE,
    INK,
    figure,
    literal,
)
from pages.charts.run.run import HEIGHT
from pages.charts.tokens import visible


def candidates(step: Step | None, *, height: int = HEIGHT, shown: int = 8) -> go.Figure:
    chart = figure(height=height, x="probability, %", y="", is_empty=step is None)
    if step is None:
        return chart
    rows = best_candidates(step, shown)
    phase_colour = COLOURS[step.phase]
    chart.add_bar(
        y=list(range(len(rows))),
        x=[row.probability * 100 for row in rows],
        orientation="h",
        marker={
            "color": [phase_colour if row.is_kept else CLEAR for row in rows],
            "opacity": [1.0 if row.token_id == step.token_id else 0.35 for row in rows],
            "line": {"color": phase_colour, "width": [0 if row.is_kept else 1 for row in rows]},
        },
        text=[percent(row.probability) + ("" if row.is_kept else ", cut") for row in rows],
        textposition="outside",
        textfont={"size": 12, "color": ESTIMATE},
        cliponaxis=False,
        constraintext="none",
        customdata=[row.token_id for row in rows],
        hovertext=[
            f"{literal(visible(row.raw))} (id {row.token_id})<br>model {percent(row.probability)}, "
            f"under these settings {percent(row.sampling_probability)}"
            for row in rows
        ],
        hoverinfo="text",
        name="probability",
    )
    largest = max(row.probability for row in rows) * 100
    chart.update_layout(margin={"l": 96, "r": 12, "t": 0, "b": 4}, bargap=0.3)
    chart.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickmode="array",
        tickvals=list(range(len(rows))),
        ticktext=[literal(_short(visible(row.raw))) for row in rows],
        tickfont={"family": CODE_FONT, "size": 12, "color": INK},
    )
    chart.update_xaxes(range=[0, largest * 1.25], visible=False)
    return chart


def best_candidates(step: Step, shown: int) -> list[Candidate]:
    """The most probable ones, and the chosen token whatever its place."""
    rows = list(step.candidates[:shown])
    chosen = next((row for row in step.candidates if row.token_id == step.token_id), None)
    if chosen is not None and chosen not in rows:
        rows[-1] = chosen
    return rows


def _short(text: str, limit: int = 11) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
