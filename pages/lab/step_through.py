"""The main screen: one real generation, one forward pass at a time."""

import streamlit as st

from pages.ui import actions, pending, state
from pages.ui.parts.boundary import boundary
from pages.ui.parts.clock import clock
from pages.ui.parts.framed import framed
from pages.ui.parts.token_strip import token_strip
from pages.ui.questions.answers import ask
from pages.ui.run.address import show_run_in_address
from pages.ui.run.branches import branches
from pages.ui.run.charts import candidates_card, charts
from pages.ui.run.controls import controls, prompt_form
from pages.ui.run.text import metrics_row, pass_card, subtitle

pending.take_in()
screen = pending.screen()
show_run_in_address(screen)

st.title("Step through a generation", anchor=False)
subtitle(screen)
prompt_form(screen)
controls(screen)
clock(
    is_running=screen.is_playing or screen.is_busy or screen.is_settling,
    expected=screen.shown,
    delay_s=pending.tick_after_s(),
    key="clock",
    on_tick=actions.tick,
)
with framed("strip"):
    token_strip(screen.trace, shown=screen.shown, key="strip", on_pick=actions.look_at_picked)

left, right = st.columns(2)
with left, boundary():
    pass_card(screen)
with right, boundary():
    candidates_card(screen)
for view in (charts, metrics_row, branches):
    with boundary():
        view(screen)

st.subheader("What did you see?", anchor=False)
for question in state.quizzes()[0]["two_phases"]:
    ask(question)
