"""Taking a plan along: as a link that makes it again, as CSV, as Markdown."""

import streamlit as st

from inference.planner import Plan
from inference.planner.export import to_csv, to_markdown
from inference.planner.link import to_query
from inference.planner.settings import PlanSettings
from pages.ui import state


def share(plan: Plan | None, settings: PlanSettings | None) -> None:
    with st.popover("Export", key="planner-export", width=90):
        if plan is None or settings is None:
            st.caption("There is no plan yet: the message on this page says what is missing.")
            return
        files = {
            "CSV": ("plan.csv", lambda: to_csv(plan, settings), "text/csv"),
            "Markdown": ("plan.md", lambda: to_markdown(plan, settings), "text/markdown"),
        }
        for label, (name, write, mime) in files.items():
            st.download_button(label, write, name, mime, key=f"planner-{name}", on_click="ignore", width="stretch")
        st.caption("A link that makes this plan again")
        st.code(f"{state.page_address()}?{to_query(settings)}", language=None, wrap_lines=True)
