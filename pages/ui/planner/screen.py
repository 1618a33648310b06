"""The planner's screen: the answer first, then its settings, then one view at a time."""

import streamlit as st

from inference.planner import Plan
from inference.planner.settings import make
from pages.ui import state
from pages.ui.parts.card import Card, card
from pages.ui.parts.framed import framed
from pages.ui.planner.answer import PlanAnswer, answer, show_answer
from pages.ui.planner.form import Form, by_label, open_link, plan_form
from pages.ui.planner.ledger import ledger
from pages.ui.planner.share import share
from pages.ui.planner.views.views import views
from pages.ui.screen import sentence

_SUBTITLE = "What to expect of a model on hardware under a workload, and how far off that is. Estimated throughout."


_NOTHING = Card(sentence="Memory, cost and energy follow once there is a plan.", height=148)


def planner() -> None:
    """Draw all of it; a wrong value costs the numbers and nothing else."""
    open_link()
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.title("Planner", anchor=False, width="content")
        export = st.container(width=90)
    st.caption(_SUBTITLE)
    result = framed("planner-answer")
    block = framed("planner-form")
    sums = framed("planner-ledger")
    with block:
        form = plan_form()
    plan, problem = _plan(form)
    settings = form.settings
    with result:
        show_answer(answer(plan) if plan else PlanAnswer(head=problem))
        if form.settings == state.remembered("planner-opened", None, lambda: form.settings):
            for problem in state.tab().plan.problems:  # of the link, until something else is chosen
                st.text(problem)
    with export:
        share(plan, settings)
    with sums:
        card(ledger(plan, settings.price) if plan and settings else _NOTHING, key="planner-ledger")
    views(plan, settings)


def _plan(form: Form) -> tuple[Plan | None, str]:
    if form.settings is None:
        return None, " ".join(form.problems)
    try:
        return make(form.settings), ""
    except ValueError as error:
        return None, sentence(by_label(str(error)))
