"""What this server holds of a learner in memory, dropped on their wish, in every tab of their browser."""

from collections import OrderedDict

import streamlit as st

from pages.ui import state
from pages.ui.learner import key as learner_key
from pages.ui.learner.sessions import end_others


@st.cache_resource(show_spinner=False)
def _wishes() -> "OrderedDict[str, int]":
    """Per browser, how often it was forgotten."""
    return OrderedDict()


def forget_learner() -> None:
    """The run with its KV cache, what was measured of the learner's own text, predictions, and all a tab holds."""
    everyone, name = _wishes(), state.learner()
    state.keep_newest(everyone, name, everyone.get(name, 0) + 1)
    _forget_here()
    end_others(name)


def forget_if_wished() -> None:
    """At the top of every run: another tab of this browser may have asked for it."""
    state.tab().browser = state.learner()
    num_wishes, known = _wishes().get(state.learner(), 0), state.tab().num_forgotten
    if known is not None and num_wishes > known:
        _forget_here()
    state.tab().num_forgotten = num_wishes


def _forget_here() -> None:
    lab, name, pending = state.laboratory(), state.learner(), state.tab().run.pending
    if lab.runs is not None:
        runs = lab.runs
        runs.forget(name)
        if pending is not None and not pending.cancel():
            pending.add_done_callback(lambda _: runs.forget(name))  # the pass in hand would keep its run
    if lab.experiments is not None:
        lab.experiments.forget(name)
    state.forget_guesses(learner_key.key())
    state.begin_anew()
