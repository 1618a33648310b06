"""The settings of an experiment: widgets on one line, or fixed values where a lesson has chosen them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

T = TypeVar("T")


class Controls:
    """Draws the widgets of one experiment, wherever the caller puts them; each gives the value in force.

    Fixed, it draws nothing and gives back what it was given. A value outlives a change of page.
    """

    def __init__(self, key: str, *, is_fixed: bool) -> None:
        self._key, self._is_fixed = key, is_fixed

    def _name(self, label: str) -> str:
        words = "".join(char if char.isalnum() else "-" for char in label.casefold())
        return f"{self._key}-{words}"

    def select(
        self, label: str, options: Sequence[T], value: T, *, format_func: Callable[[T], str] = str, width: int = 220
    ) -> T:
        """One of many."""
        if self._is_fixed:
            return value
        chosen = st.selectbox(
            label,
            options,
            index=list(options).index(value),
            format_func=format_func,
            key=self._name(label),
            width=width,
            persist_state="session",
        )
        return value if chosen is None else chosen

    def choice(
        self,
        label: str,
        options: Sequence[T],
        value: T,
        *,
        format_func: Callable[[T], str] = str,
        is_label_shown: bool = True,
    ) -> T:
        """One of a few, all in sight. Where they speak for themselves the label is only read out."""
        if self._is_fixed:
            return value
        chosen = st.segmented_control(
            label,
            options,
            default=value,
            required=True,
            format_func=format_func,
            key=self._name(label),
            label_visibility="visible" if is_label_shown else "collapsed",
            persist_state="session",
        )
        return value if chosen is None else chosen

    def number(self, label: str, value: int, low: int, high: int, *, step: int = 1, width: int = 150) -> int:
        """A whole number from `low` to `high`."""
        if self._is_fixed:
            return value
        return int(
            st.number_input(
                label, low, high, value, step, key=self._name(label), width=width, persist_state="session"
            )
        )

    def slider(self, label: str, value: float, low: float, high: float, step: float, *, width: int = 260) -> float:
        """A number from `low` to `high`, by steps."""
        if self._is_fixed:
            return value
        return float(
            st.slider(
                label,
                float(low),
                float(high),
                float(value),
                float(step),
                format="%d" if float(step).is_integer() else None,
                key=self._name(label),
                width=width,
                persist_state="session",
            )
        )

    def steps(
        self, label: str, options: Sequence[T], value: T, *, format_func: Callable[[T], str] = str, width: int = 260
    ) -> T:
        """One of a row of values, as a slider."""
        if self._is_fixed:
            return value
        return st.select_slider(
            label,
            options,
            value=value,
            format_func=format_func,
            key=self._name(label),
            width=width,
            persist_state="session",
        )

    def toggle(self, label: str, value: bool) -> bool:
        if self._is_fixed:
            return value
        return bool(st.toggle(label, value, key=self._name(label), persist_state="session"))

    def text(self, label: str, value: str, *, max_chars: int, height: int | None = None) -> str:
        """A learner's text: untrusted, wherever it is shown again."""
        if self._is_fixed:
            return value
        if height is None:
            return st.text_input(label, value, max_chars, key=self._name(label), persist_state="session") or ""
        return st.text_area(label, value, height, max_chars, key=self._name(label), persist_state="session") or ""


def row(key: str) -> "st.delta_generator.DeltaGenerator":
    """One line for the settings of an experiment."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{key}-settings")
