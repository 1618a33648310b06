"""The terms of a page, each with its definition where it stands: the browser side is terms.js."""

from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from lessons import Term, plain

_component = st.components.v2.component(
    "two_phases_terms",
    html='<div class="terms" hidden></div>',
    js=(Path(__file__).parent / "browser/terms.js").read_text(),
)


def define(terms: Iterable[Term], *, is_lesson: bool = False) -> None:
    """Links to these terms open their definition in place; in a lesson, the sidebar marks Lessons."""
    known = {term.id: {"term": term.term, "text": plain(term)} for term in terms}
    _component(data={"terms": known, "isLesson": is_lesson}, key="terms")
