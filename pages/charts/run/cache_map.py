"""The KV cache as a picture: norms, layers by positions, filled at once by prefill, by the column in decode."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inference.trace import Trace
from pages.charts.palette import (
    CARD,
    CLEAR,
    COLOURS,
    INK,
    figure,
)
from pages.charts.run.run import HEIGHT

_MAX_COLUMNS = 240  # more positions share a column


def cache_map(trace: Trace | None, *, height: int = HEIGHT) -> go.Figure:
    """The keys of a run, whose norms its trace holds."""
    num_prompt = len(trace.prompt_tokens) if trace else 0
    return norms_map(trace.key_norms if trace else [], num_prompt, of="key", height=height)


def norms_map(norms: Sequence[Sequence[float]], num_prompt: int, *, of: str, height: int = HEIGHT) -> go.Figure:
    """Norms of keys or values, [layers] per position; the first `num_prompt` positions were written by prefill."""
    chart = figure(height=height, x="position", y="layer", is_empty=not norms)
    if not norms:
        return chart
    num_layers = len(norms[0])
    width = math.ceil(len(norms) / _MAX_COLUMNS)
    top = max(max(column) for column in norms[:num_prompt])
    for phase, start, stop in (("prefill", 0, num_prompt), ("decode", num_prompt, len(norms))):
        if start == stop:
            continue
        columns = [norms[at : min(at + width, stop)] for at in range(start, stop, width)]
        chart.add_heatmap(
            x=[at + (len(group) - 1) / 2 for at, group in zip(range(start, stop, width), columns, strict=True)],
            y=list(range(num_layers)),
            z=np.round([np.mean(group, axis=0) for group in columns], 2).T,
            zmin=0,
            zmax=top,
            colorscale=[[0, CARD], [1, COLOURS[phase]]],
            showscale=False,
            xgap=1 if len(norms) < 80 else 0,
            ygap=0,
            name=phase,
            hovertemplate=f"position %{{x}}, layer %{{y}}<br>{of} norm %{{z:.3g}}, measured<extra>{phase}</extra>",
        )
    newest = num_prompt if len(norms) == num_prompt else 1
    chart.add_shape(
        type="rect",
        x0=len(norms) - newest - 0.5,
        x1=len(norms) - 0.5,
        y0=-0.5,
        y1=num_layers - 0.5,
        line={"color": INK, "width": 1.5},
        fillcolor=CLEAR,
    )
    chart.update_xaxes(range=[-0.5, max(64, len(norms)) + 0.5], showgrid=False)
    chart.update_yaxes(range=[-0.5, num_layers - 0.5], showgrid=False)
    return chart
