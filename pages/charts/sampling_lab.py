"""The sampling lab's figures: probability over ranks, the best tokens before and after, the two orders, draws."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.sampling_lab import MODEL, ChainView, Drawn, Draws, OrderView, StageView
from pages.charts.palette import CODE_FONT, ESTIMATE, INK, figure, literal
from pages.charts.tokens import visible
from pages.charts.units import percent

CURVE_HEIGHT, TOP_HEIGHT, DRAWS_HEIGHT = 290, 300, 330
_FAINT = 0.3  # opacity of what a wide, light mark stands for: the model's own
_LOWEST = -9  # power of ten of the probability axis: one draw in a billion
_MOST_BARS = 12
_NARROW = 15  # ranks up to this leave no room for words on their left


def rank_curve(view: ChainView | None, shown: str) -> go.Figure:
    """The model's distribution, thin, and what stage `shown` makes of it, thick: it ends where the stage cuts."""
    chart = _rank_axes(view)
    if view is None:
        return chart
    stage = view.stage(shown)
    _model_line(chart, view)
    if stage.name != MODEL:
        _line(chart, view, stage, f"after {stage.name}", width=2.6)
        _name_end(chart, view, stage, f"{stage.name}: {stage.num_kept:,} kept")
    return chart


def order_curve(view: OrderView | None) -> go.Figure:
    """What is drawn from in each order: temperature last wide and faint, first thin over it."""
    chart = _rank_axes(view.first if view else None)
    if view is None:
        return chart
    _model_line(chart, view.first)
    _line(chart, view.last, view.last.last, "temperature last", width=8, opacity=_FAINT)
    _line(chart, view.first, view.first.last, "temperature first", width=2.6)
    both = [("temperature first", view.first), ("temperature last", view.last)]
    fewer, more = sorted(both, key=lambda one: one[1].last.num_kept)
    if fewer[1].last.num_kept == more[1].last.num_kept:
        _name_end(chart, more[1], more[1].last, f"both orders: {more[1].last.num_kept:,} kept")
    else:
        _name_end(chart, more[1], more[1].last, f"{more[0]}: {more[1].last.num_kept:,} kept")
        _name_end(chart, fewer[1], fewer[1].last, f"{fewer[0]}: {fewer[1].last.num_kept:,} kept", is_below=True)
    return chart


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
    place, expected = np.arange(len(bins)), np.array([one.expected for one in bins])
    error = 2 * np.sqrt(expected * np.maximum(1 - expected / draws.num_draws, 0))
    names = [bin_name(one) for one in bins]
    chart.add_bar(
        y=place,
        x=np.array([one.count for one in bins]),
        orientation="h",
        marker={"color": INK, "opacity": 0.45},
        name="counted",
        hovertext=[
            f"{literal(name)}: {one.count:,} drawn, {one.expected:,.1f} expected"
            for name, one in zip(names, bins, strict=True)
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
    reach = max(max(one.count, mean + miss) for one, mean, miss in zip(bins, expected, error, strict=True))
    for one, mean, miss, row in zip(bins, expected, error, place, strict=True):
        _end_words(chart, max(one.count, mean + miss), int(row), f"{one.count:,} of {one.expected:,.1f}")
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
        sum(one.num_tokens for one in rest),
        sum(one.count for one in rest),
        sum(one.expected for one in rest),
    )
    return [*alone, together]


def bin_name(one: Drawn) -> str:
    return visible(one.raw) if one.raw is not None else f"{one.num_tokens:,} others"


def _rank_axes(view: ChainView | None) -> go.Figure:
    chart = figure(height=CURVE_HEIGHT, x="rank in the model's own order", y="probability", is_empty=view is None)
    if view is not None:
        end = math.log10(view.vocab_size)
        chart.update_xaxes(type="log", range=[-0.03 * end, end * 1.02], dtick=1, tickformat=",d")
        powers = {1.0: "1", 1e-3: "10⁻³", 1e-6: "10⁻⁶", 1e-9: "10⁻⁹"}
        chart.update_yaxes(type="log", range=[_LOWEST, 0.3], tickvals=list(powers), ticktext=list(powers.values()))
    return chart


def _model_line(chart: go.Figure, view: ChainView) -> None:
    model = view.stage(MODEL)
    _line(chart, view, model, "model", width=1.2)
    place = next(place for place, rank in enumerate(view.ranks) if rank >= view.vocab_size / 12)
    _label(chart, view.ranks[place], model.curve[place], "model", yshift=6)


def _line(
    chart: go.Figure, view: ChainView, stage: StageView, name: str, *, width: float, opacity: float = 1.0
) -> None:
    """Over all ranks; a token that is cut has no point on a logarithmic axis."""
    curve = np.array(stage.curve)
    chart.add_scatter(
        x=np.array(view.ranks),
        y=np.where(curve > 0, curve, np.nan),
        mode="lines+markers" if stage.num_kept == 1 else "lines",
        line={"color": INK, "width": width},
        marker={"color": INK, "size": 7},
        opacity=opacity,
        name=name,
        hovertemplate=f"{literal(name)}, rank %{{x:,}}: %{{y:.3g}}<extra></extra>",
    )


def _name_end(chart: go.Figure, view: ChainView, stage: StageView, words: str, *, is_below: bool = False) -> None:
    """At the last token that the stage keeps, or over the middle of a line that goes on to the end."""
    drawn = [place for place, value in enumerate(stage.curve) if value > 10**_LOWEST]
    if not drawn:
        return
    place = drawn[-1]
    if view.ranks[place] > view.vocab_size / 20:
        place = drawn[len(drawn) // 3]
    _label(chart, view.ranks[place], stage.curve[place], words, yshift=14, is_below=is_below)


def _label(chart: go.Figure, x: float, y: float, words: str, *, yshift: int, is_below: bool = False) -> None:
    """Above the point and after it; or under the falling line, at the end of a leader."""
    chart.add_annotation(
        x=math.log10(x),
        y=math.log10(max(y, 10**_LOWEST)),
        text=literal(words),
        showarrow=is_below,
        arrowhead=0,
        arrowwidth=1,
        arrowcolor=ESTIMATE,
        ax=0,
        ay=50,
        xanchor="center" if is_below and x > _NARROW else "left",
        yanchor="middle",
        xshift=0 if is_below else 6,
        yshift=0 if is_below else yshift,
        font={"size": 13, "color": INK},
    )


def _end_words(chart: go.Figure, x: float, place: int, words: str) -> None:
    chart.add_annotation(
        x=x,
        y=place,
        text=words,
        showarrow=False,
        xanchor="left",
        xshift=6,
        font={"size": 12, "color": ESTIMATE},
    )


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
