"""A component in a card of its own stands under the card's name."""

from streamlit.testing.v1 import AppTest


def page() -> None:
    from pages.ui.parts.card import Card, text_card  # noqa: PLC0415  # the page is a script of its own
    from pages.ui.parts.framed import framed  # noqa: PLC0415

    text_card(Card(kicker="Prefill"), key="pass")
    with framed("notes"):
        pass


def test_a_card_is_named_after_the_component_in_it() -> None:
    app = AppTest.from_function(page).run()
    assert not app.exception
    cards = [card.proto for card in app.main.children.values()]
    assert [card.id.rpartition("-card-")[2] for card in cards] == ["pass", "notes"]
    assert all(card.flex_container.border for card in cards)
