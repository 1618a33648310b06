"""What the server adds to Streamlit: plotly.min.js, a readiness page, safe headers, a name for each browser."""

import base64
import gzip
import hashlib
import logging
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources
from pathlib import Path

import plotly
import streamlit
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pages.ui.state import LEARNER_COOKIE, laboratory

log = logging.getLogger(__name__)
_STYLE = b"<style>" + (Path(__file__).parent / "style.css").read_bytes() + b"</style>"
OK = 200
_YEAR = 31_536_000  # seconds
_COOKIE_AGE = 30 * 86_400  # seconds


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    logging.getLogger("inference").setLevel(logging.INFO)
    lab = laboratory()
    lab.start()
    yield
    lab.worker.stop()


def on_script_error(error: BaseException) -> None:
    log.error("A page failed (%s)", secrets.token_hex(4), exc_info=error)


async def _plotly(_request: Request) -> Response:
    headers = {"Content-Encoding": "gzip", "Cache-Control": f"public, max-age={_YEAR}, immutable"}
    return Response(_plotly_gzipped(), media_type="text/javascript", headers=headers)


@cache
def _plotly_gzipped() -> bytes:
    source = resources.files(plotly).joinpath("package_data/plotly.min.js").read_bytes()
    return gzip.compress(source, compresslevel=6)


async def _ready(_request: Request) -> Response:
    """Whether the model can be used; a load balancer or a test waits for 200."""
    lab = laboratory()
    status = lab.status
    body = {"state": status.state, "sentence": status.sentence, "waiting": lab.worker.num_waiting}
    return JSONResponse(body, status_code=200 if status.state == "ready" else 503)


class _Headers(BaseHTTPMiddleware):
    """A strict content policy, and a random name for the browser so that a reload finds its own run again."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        if "text/html" in request.headers.get("accept", ""):  # a page: it must come unpacked, to be given the style
            headers = request.scope["headers"]
            request.scope["headers"] = [pair for pair in headers if pair[0] != b"accept-encoding"]
        response = await call_next(request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        if response.headers.get("content-type", "").startswith("text/html") and response.status_code == OK:
            response = await _with_style(response)
            response.headers["Content-Security-Policy"] = _content_policy()
            if LEARNER_COOKIE not in request.cookies:
                response.set_cookie(
                    LEARNER_COOKIE,
                    secrets.token_hex(16),
                    max_age=_COOKIE_AGE,
                    httponly=True,
                    samesite="strict",
                )
        return response


async def _with_style(page: Response) -> Response:
    """Streamlit's page with our layout in its head, so that it holds from the first paint on."""
    body = b"".join([chunk async for chunk in page.body_iterator])  # type: ignore[attr-defined]  # a stream here
    styled = Response(body.replace(b"</head>", _STYLE + b"</head>", 1), media_type="text/html")
    styled.headers["Cache-Control"] = "no-cache"
    return styled


@cache
def _content_policy() -> str:
    page = resources.files(streamlit).joinpath("static/index.html").read_text()
    inline = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'self'; script-src 'self' blob: {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss: blob:; "
        "object-src 'none'; base-uri 'self'; frame-ancestors 'self'"
    )


ROUTES = [Route("/plotly.min.js", _plotly), Route("/ready", _ready)]
MIDDLEWARE = [Middleware(_Headers)]
