"""What each optimisation of the labs would change for this plan."""

import math

import streamlit as st

from inference.arithmetic.units import count, scaled, seconds, significant
from inference.planner import Plan
from inference.planner.options.option import Change, Optimisation
from inference.planner.options.options import options
from inference.planner.settings import PlanSettings
from pages.ui import state
from pages.ui.parts.data_table import data_table
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table


def options_view(made: Plan, settings: PlanSettings) -> None:
    found = state.remembered("planner-options", made, lambda: options(made))
    with framed("planner-options"):
        data_table(
            table(found),
            key="planner-options-table",
            title="What each optimisation would change",
            caption="estimated; one at a time, for this plan",
        )
    with framed("planner-conditions"):
        for one in found:
            st.text(f"{one.name}: {one.condition}" + f" Price: {one.price}" * bool(one.price))


def table(found: tuple[Optimisation, ...]) -> Table:
    """A line per number that changes."""
    rows = []
    for one in found:
        for place, change in enumerate(one.changes):
            rows.append([one.name if place == 0 else "", change.name, *_pair(change), _gain(change)])
        if not one.changes:
            rows.append([one.name, "nothing here", "", "", ""])
    return Table(["optimisation", "changes", "without", "with", "times as good"], rows)


def _gain(change: Change) -> str:
    """None where nothing is left to divide by: a cost that is gone is no number of times as good."""
    return f"{significant(change.gain)} times" if math.isfinite(change.gain) else "all of it saved"


def _pair(change: Change) -> tuple[str, str]:
    def written(value: float) -> str:
        if change.unit == "s":
            return seconds(value)
        if change.unit == "FLOP":
            return scaled(value, "FLOP")
        if change.unit == "conversations":
            return f"{count(value)} conversation{'s' * (value != 1)}"
        return f"{significant(value)} {change.unit}"

    return written(change.before), written(change.after)
