"""The few rules of layout that the theme cannot say. No text of a learner or a model comes near this."""

import streamlit as st

_STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1180px; padding-bottom: 3rem; }
[data-testid="stVerticalBlock"] { gap: 0.65rem; }
[data-testid="stHeading"] h1 { padding: 0 0 0.1rem; }
[data-testid="stVerticalBlockBorderWrapper"], [class*="st-key-card-"] { background: var(--st-secondary-background-color); }
[class*="st-key-accent-prefill"] { border-left: 4px solid #D55E00; }
[class*="st-key-accent-decode"] { border-left: 4px solid #0072B2; }
.st-key-status [data-testid="stText"] { min-height: 1.5rem; }
.st-key-status, .st-key-status [data-testid="stText"] { font-family: inherit; white-space: normal; }
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; } }
</style>"""


def apply_style() -> None:
    st.html(_STYLE)
