"""Who is let in, and the headers of every answer: before Streamlit and our own routes see a request."""

import ipaddress
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
_MISDIRECTED = 421


def base_path() -> str:
    """Below which the server was told to live: /course, or nothing."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


class Gate:
    """Refuses other hosts' names, other sites' sockets, and addresses that no page of ours has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = _refusal(scope)
        if scope["type"] == "websocket":
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})  # before it was accepted: HTTP 403
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)


def _refusal(scope: MutableMapping[str, Any]) -> Response | None:
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if not host_is_ours(host):
        words = (
            f"This server does not answer to {host[:80]!r}. If it should, start it with "
            "STREAMLIT_SERVER_ALLOWED_HOSTS set to the names it is reached by."
        )
        return PlainTextResponse(words, _MISDIRECTED)
    if scope["type"] == "websocket" and not _origin_is_ours(headers.get("origin"), host):
        return PlainTextResponse("Another site's page asked for this.", 403)
    if "\0" in scope["path"]:
        return PlainTextResponse("An address holds no NUL character.", 400)
    if scope["path"] == f"{base_path()}/_stcore/metrics":
        return PlainTextResponse("Not Found", 404)
    return None


def host_is_ours(host: str) -> bool:
    """Whether a browser may have been sent here by this name: a loopback name, or one that was set.

    A foreign name can be made to point at this machine (DNS rebinding), an IP address cannot: where no names
    were set, a server that listens to other machines answers to its addresses.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    address = _ip_address(name)
    if name == "localhost" or (address and address.is_loopback):
        return True
    if config.get_option("server.allowedHosts"):
        return is_host_allowed(host)
    return address is not None and not _listens_here_only()


def _ip_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _listens_here_only() -> bool:
    listens_on = str(config.get_option("server.address") or "")
    address = _ip_address(listens_on)
    return listens_on == "localhost" or (address is not None and address.is_loopback)


def _origin_is_ours(origin: str | None, host: str) -> bool:
    """Streamlit would ask a foreign server for this machine's address to answer that."""
    if origin is None or not config.get_option("server.enableCORS"):
        return True
    return urlsplit(origin).netloc == host or origin in config.get_option("server.corsAllowedOrigins")
