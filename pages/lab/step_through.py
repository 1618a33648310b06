"""The main screen: one real generation, one forward pass at a time."""

import streamlit as st

from pages.ui import state
from pages.ui.run_charts import candidates_card, charts
from pages.ui.run_controls import controls, export_menu, prompt_form
from pages.ui.run_text import metrics_row, pass_card, subtitle
from pages.ui.question import show as show_question
from pages.ui.branches import branches
from pages.ui.clock import clock
from pages.ui.token_strip import token_strip

screen = state.screen()

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Step through a generation", anchor=False, width="content")
    subtitle(screen)
prompt_form(screen)
controls(screen)
with st.container(border=True, key="card-strip"):
    token_strip(screen.trace, shown=screen.shown, key="strip", on_pick=state.jump_to_token)

left, right = st.columns(2)
with left:
    pass_card(screen)
with right:
    candidates_card(screen)
charts(screen)
metrics_row(screen)
branches(screen)

st.subheader("What did you see?", anchor=False)
for question in state.questions().values():
    show_question(
        question, answer=state.answer_of(question.id), on_answer=state.answer, seed=state.learner()
    )

clock(
    is_running=screen.is_playing or screen.is_busy,
    expected=screen.shown,
    delay_s=state.delay_s(),
    key="clock",
    on_tick=state.tick,
)
