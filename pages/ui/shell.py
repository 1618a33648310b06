"""The script of every page: page settings and navigation."""

import streamlit as st

from pages.ui import state
from pages.ui.course import course, page_of
from pages.ui.focus import keep_focus
from pages.ui.forgetting import forget_if_wished
from pages.ui.learner_key import show_key

st.set_page_config(page_title="Two Phases", layout="wide", initial_sidebar_state=200)
state.restore()
forget_if_wished()
show_key()

page = st.navigation(
    {
        "Learn": [
            st.Page("../learn/start.py", title="Start here", url_path="start", default=True),
            st.Page("../learn/lessons.py", title="Lessons", url_path="lessons"),
            st.Page("../learn/glossary.py", title="Glossary", url_path="glossary"),
            *map(page_of, course().lessons),
        ],
        "Lab": [
            st.Page("../lab/step_through.py", title="Step through", url_path="step-through"),
            st.Page("../lab/kv_cache.py", title="KV cache", url_path="kv-cache"),
            st.Page("../lab/roofline.py", title="Roofline", url_path="roofline"),
            st.Page("../lab/latency.py", title="Latency", url_path="latency"),
            st.Page("../lab/sampling.py", title="Sampling", url_path="sampling"),
            st.Page("../lab/batching.py", title="Batching", url_path="batching"),
            st.Page("../lab/speculative.py", title="Speculative decoding", url_path="speculative-decoding"),
            st.Page("../lab/prefix_caching.py", title="Prefix caching", url_path="prefix-caching"),
            st.Page("../lab/disaggregation.py", title="Disaggregation", url_path="disaggregation"),
        ],
        "Plan": [
            st.Page("../plan/planner.py", title="Planner", url_path="planner"),
        ],
        "Check": [
            st.Page("../check/quiz.py", title="Quiz", url_path="quiz"),
            st.Page("../check/review.py", title="Review", url_path="review"),
            st.Page("../check/mastery.py", title="Mastery", url_path="mastery"),
            st.Page("../check/my_data.py", title="My data", url_path="my-data"),
            st.Page("../check/classroom.py", title="Class", url_path="class"),
        ],
    }
)
state.tab().is_in_lesson = page.url_path.startswith("lesson-")
keep_focus()
page.run()
