"""The KV cache as a picture: key norms, layers by positions, filled at once by prefill, by the column in decode."""

import math

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
from pages.charts.run import HEIGHT

_MAX_COLUMNS = 240  # more positions share a column


def cache_map(trace: Trace | None) -> go.Figure:
    chart = figure(height=HEIGHT, x="position", y="layer", is_empty=trace is None)
    if trace is None or not trace.key_norms:
        return chart
    norms, num_prompt = trace.key_norms, len(trace.prompt_tokens)
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
            hovertemplate="position %{x}, layer %{y}<br>key norm %{z:.3g}, measured<extra>" + phase + "</extra>",
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
