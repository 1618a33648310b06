"""A card of text and figures whose words may come from a learner or a model: never markup."""

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from pages.ui.parts.framed import in_card

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "two_phases_card",
    html='<div class="card" role="group"></div>',
    css=(_HERE / "browser/card.css").read_text(),
    js=(_HERE / "browser/card.js").read_text(),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its unit, and the few words under it."""

    value: str
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    kicker: str = ""
    title: str = ""
    note: str = ""
    figures: tuple[Figure, ...] = ()
    sentence: str = ""
    accent: str = ""
    """The phase whose colour the kicker has."""
    height: int = 0
    """Pixels kept free at least, so that a longer sentence moves nothing."""


def card(content: Card, *, key: str) -> None:
    _component(data=asdict(content), key=key)


text_card = in_card(card)
