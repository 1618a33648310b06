"""The roads not taken: how the run stood before each fork, beside how it stands now."""

import statistics

import streamlit as st

from inference.arithmetic.units import seconds, significant
from inference.trace import Trace
from pages.ui.screen import Screen


def branches(screen: Screen) -> None:
    if screen.trace is None or not screen.branches:
        return
    with st.expander(f"Compare branches ({len(screen.branches) + 1})", key="branches"):
        for number, trace in enumerate((*screen.branches, screen.trace), start=1):
            is_now = number > len(screen.branches)
            st.markdown(f"**{'Now' if is_now else f'Before fork {number}'}** · {_figures(trace)}")
            st.text(trace.text)


def _figures(trace: Trace) -> str:
    gaps = trace.itl_s
    logprob = statistics.fmean(step.logprob for step in trace.steps)
    middle = f"ITL median {seconds(statistics.median(gaps))}, " if gaps else ""
    return f"{len(trace.steps)} tokens, {middle}mean log-probability {significant(logprob)}"
