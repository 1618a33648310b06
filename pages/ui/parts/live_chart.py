"""A Plotly figure that updates in place, with a table view and clicks; its browser side is live_chart.js."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from pages.ui import state
from pages.ui.parts.boundary import boundary
from pages.ui.parts.framed import in_card

_HERE = Path(__file__).parent
_HTML = """
<div class="tp-chart">
  <div class="tp-head"><h3 class="tp-title"></h3><button type="button" class="tp-toggle">Table</button></div>
  <p class="tp-caption"></p>
  <div class="tp-plot" role="img" aria-label="Chart, not drawn yet"></div>
  <div class="tp-table" tabindex="0" role="region" aria-label="Table" hidden></div>
</div>
"""
_component = st.components.v2.component(
    "two_phases_live_chart",
    html=_HTML,
    css=(_HERE / "browser/live_chart.css").read_text(),
    js=(_HERE / "browser/live_chart.js").read_text(),
    isolate_styles=False,  # Plotly writes its own style sheet into the document
)


@dataclass(frozen=True, slots=True)
class Table:
    """The chart's numbers, already written for the screen."""

    columns: list[str]
    rows: list[list[str]]
    picks: list[int] | None = None
    """Per row, what its button picks; None for no buttons."""


def live_chart(
    draw: Callable[[], go.Figure],
    *,
    version: object,
    key: str,
    title: str,
    caption: str,
    alt: str,
    table: Callable[[], Table],
    on_pick: Callable[[str], None] | None = None,
    pick_label: str = "Choose",
    expected: int = 0,
) -> None:
    """Draw or update the chart `key`, if `version` has changed since it was last drawn in this tab.

    A click calls `on_pick(key)`; `state.told(key, "picked")` says on what, and gives `expected` back, so that a
    late click can be told from a fresh one. The table is computed only while it is shown.
    """
    shows_table = state.chart_shows_table(key)

    def data() -> dict[str, object]:
        figure, shown = draw(), table() if shows_table else None
        return {
            "figure": figure.to_json(),
            "title": title,
            "caption": caption,
            "alt": alt,
            "height": figure.layout.height,
            "canPick": on_pick is not None,
            "pickLabel": pick_label,
            "expected": expected,
            "stamp": state.draw_stamp(),
            "table": asdict(shown) if shown else None,
        }

    with boundary("chart"):
        _component(
            data=state.remembered(key, (version, caption, expected, shows_table, on_pick is None), data),
            key=key,
            on_table_change=_nothing,
            on_picked_change=(lambda: on_pick(key)) if on_pick else _nothing,
        )


def _nothing() -> None:
    """A component's state exists only where a callback is given for it."""


chart_card = in_card(live_chart)
