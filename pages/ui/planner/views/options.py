"""What each optimisation of the labs would change for this plan."""

import math

import streamlit as st

from inference.arithmetic.units import count, scaled, seconds, significant
from inference.planner import Plan
from inference.planner.options.option import Change, Optimisation
from inference.planner.options.options import options
from inference.planner.settings import PlanSettings
from pages.ui import state
from pages.ui.parts.data_table import table_card
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table


def options_view(plan: Plan, settings: PlanSettings) -> None:
    optimisations = state.remembered("planner-options", plan, lambda: options(plan))
    table_card(
        table(optimisations),
        key="planner-options-table",
        title="What each optimisation would change",
        caption="estimated; one at a time, for this plan",
    )
    with framed("planner-conditions"):
        for optimisation in optimisations:
            st.text(
                f"{optimisation.name}: {optimisation.condition}"
                + f" Price: {optimisation.price}" * bool(optimisation.price)
            )


def table(optimisations: tuple[Optimisation, ...]) -> Table:
    """A line per number that changes."""
    rows = []
    for optimisation in optimisations:
        for place, change in enumerate(optimisation.changes):
            rows.append([optimisation.name if place == 0 else "", change.name, *_pair(change), _gain(change)])
        if not optimisation.changes:
            rows.append([optimisation.name, "nothing here", "", "", ""])
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
