"""The teacher's secret: where it comes from, what wrong tries at it cost, and who has given it."""

import hmac
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from pages.ui import state

VARIABLE = "TWOPHASES_TEACHER_SECRET"
MIN_SECRET_CHARS = 12
MAX_WAIT_S = 30.0
SIGNED_IN_S = 8 * 3600.0  # a day of teaching: a browser left open forgets the teacher over night
_SIGN_IN = "class-sign-in"


@dataclass(slots=True)
class _Wrong:
    """The wrong tries of one browser at one address."""

    count: int = 0
    open_at_s: float = 0.0


class Tries:
    """Tries at the secret, counted per browser and address: nobody's wrong ones hold up another's right one.

    Each wrong one doubles the wait before the next. Nothing sleeps: a try that comes too early is turned away
    unread. Who makes up a new browser for each try waits for nothing, so the secret itself must be hard to guess.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._wrong: OrderedDict[str, _Wrong] = OrderedDict()

    def problem(self, who: str, typed: str, right: str) -> str:
        """Why this try opens nothing; empty if it is the secret."""
        with self._lock:
            wrong = self._wrong.get(who, _Wrong())
            left_s = wrong.open_at_s - self._now()
            if left_s > 0:
                return f"There was a wrong try: the next one is read in {math.ceil(left_s)} s."
            if right and hmac.compare_digest(typed.encode(errors="replace"), right.encode()):
                self._wrong.pop(who, None)
                return ""
            wrong.open_at_s = self._now() + min(2.0 ** min(wrong.count, 10), MAX_WAIT_S)
            wrong.count += 1
            state.keep_newest(self._wrong, who, wrong)
            return "That is not the secret this server was started with."


class Teachers:
    """The browsers that gave the secret, by the random name in their cookie, and until when that holds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until_s: OrderedDict[str, float] = OrderedDict()

    def add(self, browser: str) -> None:
        state.keep_newest(self._until_s, browser, self._now() + SIGNED_IN_S)

    def remove(self, browser: str) -> None:
        self._until_s.pop(browser, None)

    def has(self, browser: str) -> bool:
        return self._until_s.get(browser, 0.0) > self._now()


@st.cache_resource(show_spinner=False)
def tries() -> Tries:
    return Tries()


@st.cache_resource(show_spinner=False)
def teachers() -> Teachers:
    return Teachers()


def is_teacher() -> bool:
    """Whether this browser gave the secret and has not signed out since; a reload changes nothing."""
    return teachers().has(state.learner())


def secret() -> str:
    """The teacher's secret; empty if none is set that would protect anything."""
    value = os.environ.get(VARIABLE, "")
    return value if len(value) >= MIN_SECRET_CHARS else ""


def sign_in() -> None:
    st.text_input("Teacher's secret", type="password", key="class-secret", width=320, on_change=_sign_in)
    if problem := state.tab().problems.get(_SIGN_IN):
        st.text(problem)


def sign_out() -> None:
    teachers().remove(state.learner())


def _sign_in() -> None:
    here, typed = state.tab(), str(state.widget_value("class-secret") or "")
    state.set_widget("class-secret", "")
    if not typed:
        return  # emptied by the line above, or by the learner
    who = f"{state.learner()} {st.context.ip_address}"
    here.problems[_SIGN_IN] = tries().problem(who, typed, secret())
    if not here.problems[_SIGN_IN]:
        teachers().add(state.learner())
