"""Colours and the one chart template: prefill and decode look the same everywhere, estimates are grey, dashed."""

import plotly.graph_objects as go

from inference.trace import Phase

# The light palette, written once more in .streamlit/config.toml. Figures are drawn in it; in dark mode the
# live chart exchanges each of these for the theme's own colour, so a figure never knows the mode.
PREFILL = "#D55E00"
DECODE = "#0072B2"
ESTIMATE = "#6E6B64"
INK = "#1D1F23"
CARD = "#FFFFFF"
HAIRLINE = "#DFDCD3"
CLEAR = "rgba(0,0,0,0)"

COLOURS = {"prefill": PREFILL, "decode": DECODE}
PHASES: tuple[Phase, ...] = ("prefill", "decode")
MARKS = {"prefill": "square", "decode": "circle"}
DASHED = {"color": ESTIMATE, "width": 1.5, "dash": "dash"}
FONT = "Source Sans, sans-serif"
CODE_FONT = "Source Code, monospace"


def figure(*, height: int, x: str, y: str, is_empty: bool = False) -> go.Figure:
    """A figure with titled axes; charts add their traces. An empty one has no numbers on its axes."""
    axis: dict[str, object] = {
        "gridcolor": HAIRLINE,
        "zeroline": False,
        "linecolor": HAIRLINE,
        "tickfont": {"size": 12, "color": ESTIMATE},
        "fixedrange": True,
        "ticks": "",
        "showticklabels": not is_empty,
    }
    title: dict[str, object] = {"font": {"size": 12, "color": ESTIMATE}, "standoff": 6}
    return go.Figure(
        layout={
            "template": None,
            "height": height,
            "margin": {"l": 56, "r": 12, "t": 8, "b": 40},
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "font": {"family": FONT, "size": 12, "color": INK},
            "showlegend": False,
            "uirevision": "stay",
            "xaxis": axis | {"title": title | {"text": x}},
            "yaxis": axis | {"title": title | {"text": y}},
            "hoverlabel": {"bgcolor": CARD, "bordercolor": HAIRLINE, "font": {"color": INK, "size": 12}},
            "bargap": 0.25,
        }
    )


def label(
    chart: go.Figure, x: object, y: object, text: str, *, colour: str = INK, size: int = 13, **place: object
) -> None:
    """Words at the end of a line or beside a point; `place`: anchors, shifts and axes, as Plotly names them."""
    place = {"showarrow": False} | place
    chart.add_annotation(x=x, y=y, text=text, font={"size": size, "color": colour}, **place)


def literal(text: str) -> str:
    """Plotly reads labels as HTML: this text is shown as it is written."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
