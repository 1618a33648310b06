"""The teacher's secret: where it comes from, and what wrong tries at it cost."""

import hmac
import math
import os
import threading
import time
from collections.abc import Callable

import streamlit as st

from pages.ui import state

VARIABLE = "TWOPHASES_TEACHER_SECRET"
MIN_SECRET_CHARS = 12
MAX_WAIT_S = 30.0
_SIGN_IN = "class-sign-in"


class Tries:
    """Tries at the secret on this server, whoever makes them. Each wrong one doubles the wait before the next.

    Nothing sleeps: a try that comes too early is turned away unread, and every other page goes on.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._num_wrong, self._open_at_s = 0, 0.0

    def problem(self, given: str, right: str) -> str:
        """Why this try opens nothing; empty if it is the secret."""
        with self._lock:
            left_s = self._open_at_s - self._now()
            if left_s > 0:
                return f"There was a wrong try: the next one is read in {math.ceil(left_s)} s."
            if right and hmac.compare_digest(given.encode(errors="replace"), right.encode()):
                self._num_wrong = 0
                return ""
            self._open_at_s = self._now() + min(2.0 ** min(self._num_wrong, 10), MAX_WAIT_S)
            self._num_wrong += 1
            return "That is not the secret this server was started with."


@st.cache_resource(show_spinner=False)
def tries() -> Tries:
    return Tries()


def secret() -> str:
    """The teacher's secret; empty if none is set that would protect anything."""
    found = os.environ.get(VARIABLE, "")
    return found if len(found) >= MIN_SECRET_CHARS else ""


def sign_in() -> None:
    st.text_input("Teacher's secret", type="password", key="class-secret", width=320, on_change=_sign_in)
    if problem := state.tab().problems.get(_SIGN_IN):
        st.text(problem)


def _sign_in() -> None:
    here, given = state.tab(), str(state.widget_value("class-secret") or "")
    state.set_widget("class-secret", "")
    if not given:
        return  # emptied by the line above, or by the learner
    here.problems[_SIGN_IN] = tries().problem(given, secret())
    here.is_teacher = not here.problems[_SIGN_IN]
