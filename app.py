"""The server: the script, its routes and headers, and the model that loads behind the first page."""

import streamlit as st

from pages.ui.server import MIDDLEWARE, ROUTES, lifespan, on_script_error

app = st.App(
    "pages/ui/shell.py",
    routes=ROUTES,
    middleware=MIDDLEWARE,
    lifespan=lifespan,
    on_script_error=on_script_error,
)
