"""The sampling lab's bars: the best tokens before and after a stage, and how often each was drawn."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.units import percent
from inference.sampling_lab.records import MODEL, Drawn, Draws, StageView
from pages.charts.palette import CODE_FONT, ESTIMATE, INK, figure, label, literal
from pages.charts.tokens import visible

TOP_HEIGHT, DRAWS_HEIGHT = 300, 330
_FAINT = 0.3  # opacity of the model's own probability
_MOST_BARS = 12


def top_tokens(stage: StageView | None) -> go.Figure:
    """The best tokens after a stage: the model's own probability wide and faint, the stage's narrow."""
    chart = figure(height=TOP_HEIGHT, x="", y="", is_empty=stage is None)
    if stage is None:
        return chart
    rows = stage.top
    for values, width, opacity in (
        ([row.model for row in rows], 0.78, _FAINT),
        ([row.probability for row in rows], 0.3, 1.0),
    ):
        chart.add_bar(
            y=np.arange(len(rows)),
            x=np.array(values) * 100,
            orientation="h",
            width=width,
            marker={"color": INK, "opacity": opacity},
            hovertext=[
                f"{literal(visible(row.raw))} (id {row.token_id}, rank {row.rank:,})<br>"
                f"model {percent(row.model)}, {literal(stage.name)} {percent(row.probability)}"
                for row in rows
            ],
            hoverinfo="text",
        )
    for place, row in enumerate(rows):
        words = percent(row.model)
        if stage.name != MODEL:
            words += f" → {percent(row.probability)}" if row.is_kept else ", cut"
        _end_words(chart, max(row.model, row.probability) * 100, place, words)
    _token_axis(chart, [visible(row.raw) for row in rows])
    largest = max(max(row.model, row.probability) for row in rows) * 100
    chart.update_layout(barmode="overlay", margin={"l": 110, "r": 8, "t": 0, "b": 4})
    chart.update_xaxes(range=[0, largest * 1.6], visible=False)
    return chart


def draw_counts(draws: Draws | None) -> go.Figure:
    """Counts as bars; the expected count as a mark with two standard errors to either side."""
    chart = figure(height=DRAWS_HEIGHT, x="times drawn, counted", y="", is_empty=draws is None)
    if draws is None:
        return chart
    bins = shown_bins(draws)
    place, expected = np.arange(len(bins)), np.array([drawn.expected for drawn in bins])
    error = 2 * np.sqrt(expected * np.maximum(1 - expected / draws.num_draws, 0))
    names = [bin_name(drawn) for drawn in bins]
    chart.add_bar(
        y=place,
        x=np.array([drawn.count for drawn in bins]),
        orientation="h",
        marker={"color": INK, "opacity": 0.45},
        name="counted",
        hovertext=[
            f"{literal(name)}: {drawn.count:,} drawn, {drawn.expected:,.1f} expected"
            for name, drawn in zip(names, bins, strict=True)
        ],
        hoverinfo="text",
    )
    chart.add_scatter(
        y=place,
        x=expected,
        mode="markers",
        marker={"symbol": "line-ns", "size": 14, "line": {"color": INK, "width": 2}},
        error_x={"type": "data", "array": error, "color": ESTIMATE, "thickness": 1.2, "width": 4},
        name="expected",
        hoverinfo="skip",
    )
    reach = max(max(drawn.count, mean + miss) for drawn, mean, miss in zip(bins, expected, error, strict=True))
    for drawn, mean, miss, row in zip(bins, expected, error, place, strict=True):
        _end_words(chart, max(drawn.count, mean + miss), int(row), f"{drawn.count:,} of {drawn.expected:,.1f}")
    _token_axis(chart, names)
    chart.update_layout(margin={"l": 110, "r": 8, "t": 0, "b": 40})
    chart.update_xaxes(range=[0, reach * 1.45])
    return chart


def shown_bins(draws: Draws) -> list[Drawn]:
    """As many as fit: the less expected ones together."""
    if len(draws.bins) <= _MOST_BARS:
        return list(draws.bins)
    alone, rest = draws.bins[: _MOST_BARS - 1], draws.bins[_MOST_BARS - 1 :]
    together = Drawn(
        None,
        sum(drawn.num_tokens for drawn in rest),
        sum(drawn.count for drawn in rest),
        sum(drawn.expected for drawn in rest),
    )
    return [*alone, together]


def bin_name(drawn: Drawn) -> str:
    return visible(drawn.raw) if drawn.raw is not None else f"{drawn.num_tokens:,} others"


def _end_words(chart: go.Figure, x: float, place: int, words: str) -> None:
    label(chart, x, place, words, colour=ESTIMATE, size=12, xanchor="left", xshift=6)


def _token_axis(chart: go.Figure, names: Sequence[str]) -> None:
    chart.update_yaxes(
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        showticklabels=True,
        tickmode="array",
        tickvals=np.arange(len(names)),
        ticktext=[literal(_short(name)) for name in names],
        tickfont={"family": CODE_FONT, "size": 12, "color": INK},
    )


def _short(text: str, limit: int = 13) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
