"""The key under which a learner's answers are kept: in every page's address, so that a bookmark brings it back."""

import base64
import hashlib
from collections import OrderedDict

import streamlit as st

from pages.ui import state
from quizzes.progress_records import is_key


@st.cache_resource(show_spinner=False)
def _brought() -> "OrderedDict[str, str]":
    """Per browser, the key it last used: a link inside the app may lead to an address without it."""
    return OrderedDict()


def key() -> str:
    """128 bits: those in the address, else made from the browser's own random name.

    One that no learner can have is as none, and is replaced in the address.
    """
    here, name = state.tab(), state.learner()
    if not is_key(here.key):
        here.key = _brought().get(name) or _made_from(name)
    state.keep_newest(_brought(), name, here.key)
    return here.key


def show_key() -> None:
    if st.query_params.get("key") != key():
        st.query_params["key"] = key()


def _made_from(name: str) -> str:
    digest = hashlib.sha256(f"two-phases progress\n{name}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
