"""One failing view is one sentence; the rest of the page lives."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.errors import FragmentHandledException

log = logging.getLogger(__name__)


@contextmanager
def boundary(what: str = "view") -> Iterator[None]:
    """Draw within it. Streamlit's own ways out of a script, stop and rerun, are no errors and pass through."""
    try:
        yield
    except FragmentHandledException:
        raise  # said and logged already, by Streamlit, where it happened
    except Exception as error:  # whatever it is, it must not take its neighbours along
        entry = secrets.token_hex(4)
        log.error("A %s could not be drawn (%s)", what, entry, exc_info=error)
        st.text(
            f"This {what} could not be drawn ({type(error).__name__}); the others go on. Its log entry is {entry}."
        )
