"""A table whose cells are written as text: never markup, whoever wrote them."""

from dataclasses import asdict
from pathlib import Path

import streamlit as st

from pages.ui.parts.framed import in_card
from pages.ui.parts.live_chart import Table

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_data_table",
    html='<div class="dt"><h3 class="dt-title"></h3><p class="dt-caption"></p><div class="dt-body" tabindex="0" '
    'role="region"></div></div>',
    css=(_HERE / "browser/data_table.css").read_text(),
    js=(_HERE / "browser/data_table.js").read_text(),
)


def data_table(
    table: Table, *, key: str, title: str = "", caption: str = "", marked: tuple[tuple[int, int], ...] = ()
) -> None:
    """`marked` cells, as (row, column), are set in bold; columns of numbers are aligned right."""
    data = asdict(table) | {"title": title, "caption": caption, "marked": [list(cell) for cell in marked]}
    _component(data=data, key=key)


table_card = in_card(data_table)
