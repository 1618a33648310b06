"""The script of every page: page settings and navigation."""

import streamlit as st

from pages.ui import state
from pages.ui.away import say_if_away
from pages.ui.course.course import course
from pages.ui.course.page import page_of
from pages.ui.learner.forgetting import forget_if_wished
from pages.ui.parts.focus import keep_focus
from pages.ui.serving.addresses import PAGES, START, tab_title

st.set_page_config(layout="wide", initial_sidebar_state=200)
state.restore()
forget_if_wished()

groups = {
    name: [
        st.Page(f"../{page.script}.py", title=page.title, url_path=page.path, default=page is START)
        for page in group
    ]
    for name, group in PAGES.items()
}
groups["Learn"] += map(page_of, course().lessons)
page = st.navigation(groups)
st.set_page_config(page_title=tab_title(page.title))
state.tab().drawing.is_in_lesson = page.url_path.startswith("lesson-")
state.tab().answering.predicting = ""
keep_focus()
say_if_away()
page.run()
state.laboratory().start()  # if nobody has: after the first page, which would wait for torch
