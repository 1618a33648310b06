"""Score matrices, if they were stored, against the KV cache of the same tokens, by arithmetic: all dashed."""

import math

import numpy as np
import plotly.graph_objects as go

from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.kv_cache.scores import Scores, outgrown_from
from pages.charts.kv_cache.growth import by_bytes, by_tokens, crossing, note
from pages.charts.palette import ESTIMATE, INK, figure

HEIGHT = 330
_SPAN = 1024  # the axis begins at this share of the tokens
_POINTS = 24
_CURVES = (
    ("scores, all heads and layers, if stored", "stored_bytes", ESTIMATE, 2.0),
    ("KV cache", "kv_bytes", INK, 2.5),
    ("one head's scores", "matrix_bytes", ESTIMATE, 2.0),
    ("one row, in decode", "row_bytes", ESTIMATE, 2.0),
)


def score_matrix(spec: ModelSpec, *, num_tokens: int, bits: float = 16) -> go.Figure:
    """Bytes up to `num_tokens`: scores grow with the square, the cache with the length; where they cross."""
    chart = figure(height=HEIGHT, x="tokens of the prompt", y="bytes, estimated")
    outgrown = outgrown_from(spec, bits=bits)
    low = max(1, num_tokens // _SPAN)
    lengths = sorted({*np.geomspace(low, num_tokens, _POINTS).round().astype(int).tolist()})
    scores = [Scores(spec, length, bits) for length in lengths]
    middle = Scores(spec, max(1, round(math.sqrt(low * num_tokens))), bits)
    late = Scores(spec, max(low, num_tokens // 7), bits)  # past the crossing, where the upper two are apart
    for name, attribute, colour, width in _CURVES:
        sizes = [getattr(score, attribute) for score in scores]
        chart.add_scatter(
            x=np.array(lengths),
            y=np.array(sizes),
            mode="lines",
            line={"color": colour, "width": width, "dash": "dash"},
            name=name,
            hovertext=[
                f"{name}, {length:,} tokens: {scaled(size, 'B')}, estimated"
                for length, size in zip(lengths, sizes, strict=True)
            ],
            hoverinfo="text",
        )
        is_top = attribute == "stored_bytes"
        at = scores[-1] if is_top else late if attribute == "kv_bytes" else middle
        note(chart, at.num_tokens, getattr(at, attribute), name, is_left=is_top, is_above=is_top, colour=colour)
    if low <= outgrown <= num_tokens:
        words = f"larger from {outgrown:,} tokens"
        size = Scores(spec, outgrown, bits).stored_bytes
        crossing(chart, outgrown, size, words, f"scores {words}, estimated", is_left=True)
    by_tokens(chart, low, num_tokens)
    by_bytes(chart, min(scores[0].row_bytes, scores[0].kv_bytes), max(scores[-1].stored_bytes, scores[-1].kv_bytes))
    return chart
