"""The server: the script, its routes and headers, and the model that loads behind the first page."""

import streamlit as st

from pages.ui.server import MIDDLEWARE, lifespan, on_script_error, routes

app = st.App(
    "pages/ui/shell.py",
    routes=routes(),
    middleware=MIDDLEWARE,
    lifespan=lifespan,
    on_script_error=on_script_error,
)
