"""Our middleware and routes over Streamlit's own static pages: every answer but those of a running script."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket
from streamlit import config
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_assets_routes

from pages.ui.server import MIDDLEWARE, routes

HOST = "http://127.0.0.1:8501"


async def _stream(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


def client(*, base: str = "", host: str = HOST) -> TestClient:
    """A browser that follows no redirect by itself."""
    app = Starlette(
        routes=[
            *routes(),
            WebSocketRoute(f"/{base}/_stcore/stream" if base else "/_stcore/stream", _stream),
            *create_streamlit_static_assets_routes(base_url=base),
        ],
        middleware=MIDDLEWARE,
    )
    return TestClient(app, base_url=host, follow_redirects=False)


@contextmanager
def setting(name: str, value: object) -> Iterator[None]:
    before = config.get_option(name)
    config.set_option(name, value)
    try:
        yield
    finally:
        config.set_option(name, before)


def meta(html: str) -> dict[str, str]:
    """What the page's head says of it, by name or property."""
    return {
        name: unescape(content)
        for name, content in re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">', html)
    }


def title(html: str) -> str:
    (found,) = re.findall("<title>(.*?)</title>", html)
    return unescape(found)
