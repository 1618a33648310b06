"""The few rules of layout that the theme cannot say. No text of a learner or a model comes near this."""

import streamlit as st

_STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1120px; padding-bottom: 3rem; }
[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"] { gap: 0.55rem; }
[data-testid="stHeading"] h1 { padding: 0.2rem 0; }
[class*="st-key-card-"] { background: light-dark(#FFFFFF, #1B1E23); }
[data-testid="stText"] { font-family: inherit; }
.st-key-subtitle [data-testid="stText"], .st-key-status [data-testid="stText"] {
  font-size: 0.93rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
.st-key-subtitle { opacity: 0.85; }
.st-key-status [data-testid="stText"] { min-height: 1.4rem; }
.st-key-scrub { margin: -0.35rem 0 -0.5rem; }
[data-testid="stSidebarHeader"]::before {
  content: "Two Phases"; font: 600 1.15rem "Source Serif", serif; align-self: center; margin-right: auto;
}
@media (max-width: 640px) {
  .st-key-prompt { min-width: 100%; }
  [data-testid="stMainBlockContainer"] { padding-left: 1rem; padding-right: 1rem; } }
</style>"""


def apply_style() -> None:
    st.html(_STYLE)
