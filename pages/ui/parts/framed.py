"""The border of a card, and components that bring their own; both are named after what stands in them."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

P = ParamSpec("P")


def framed(name: str) -> "st.delta_generator.DeltaGenerator":
    """An empty card."""
    return st.container(border=True, key=f"card-{name}")


def in_card(component: Callable[P, None]) -> Callable[P, None]:
    """The same component in a card of its own, named by the component's `key`."""

    @wraps(component)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with framed(str(kwargs["key"])):
            component(*args, **kwargs)

    return drawn
