"""The sampling lab's curves: probability over all ranks, after one stage, and in both orders."""

import numpy as np
import plotly.graph_objects as go

from inference.sampling_lab.records import MODEL, ChainView, OrderView, StageView
from pages.charts.factors import log_label, log_range
from pages.charts.palette import ESTIMATE, INK, figure, literal

CURVE_HEIGHT = 290
_FAINT = 0.3  # opacity of the wide line
_LOWEST = -9  # power of ten of the probability axis: one draw in a billion
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
    both = [("first", view.first), ("last", view.last)]  # short enough for a phone; the caption has both in full
    fewer, more = sorted(both, key=lambda order: order[1].last.num_kept)
    if fewer[1].last.num_kept == more[1].last.num_kept:
        _name_end(chart, more[1], more[1].last, f"both orders: {more[1].last.num_kept:,} kept")
    else:
        _name_end(chart, more[1], more[1].last, f"{more[0]}: {more[1].last.num_kept:,} kept")
        _name_end(chart, fewer[1], fewer[1].last, f"{fewer[0]}: {fewer[1].last.num_kept:,} kept", is_below=True)
    return chart


def _rank_axes(view: ChainView | None) -> go.Figure:
    chart = figure(height=CURVE_HEIGHT, x="rank in the model's own order", y="probability", is_empty=view is None)
    if view is not None:
        ends = log_range([1, view.vocab_size], below=1.3, above=1.2)
        chart.update_xaxes(type="log", range=ends, dtick=1, tickformat=",d")
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
    log_label(
        chart,
        x,
        max(y, 10**_LOWEST),
        literal(words),
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
    )
