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
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pages.ui.state import LEARNER_COOKIE, laboratory
from pages.ui.uploads import BoundedUploads

log = logging.getLogger(__name__)
_STREAMLIT = Path(str(resources.files(streamlit).joinpath("static"))).resolve()
_STYLE = b"<style>" + (Path(__file__).parent / "style.css").read_bytes() + b"</style>"
_OK = 200
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
    return await _packed(Path(str(resources.files(plotly).joinpath("package_data/plotly.min.js"))))


async def _packed(path: Path) -> Response:
    """A file that never changes under its name, compressed once."""
    headers = {"Content-Encoding": "gzip", "Cache-Control": f"public, max-age={_YEAR}, immutable"}
    kind = "text/css" if path.suffix == ".css" else "text/javascript"
    return Response(await run_in_threadpool(_gzipped, path), media_type=kind, headers=headers)


@cache
def _gzipped(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), compresslevel=6)


def _static_file(request: Request) -> Path | None:
    """Streamlit's own script or style that is asked for, which it would send unpacked: 10 MB a first visit."""
    if "gzip" not in request.headers.get("accept-encoding", "") or not request.url.path.startswith("/static/"):
        return None
    path = (_STREAMLIT / request.url.path.lstrip("/")).resolve()
    is_ours = path.suffix in (".js", ".css") and path.is_relative_to(_STREAMLIT) and path.is_file()
    return path if is_ours else None


async def _ready(_request: Request) -> Response:
    """Whether the model can be used; a load balancer or a test waits for 200."""
    lab = laboratory()
    status = lab.status
    body = {"state": status.state, "waiting": lab.worker.num_waiting}
    return JSONResponse(body, status_code=200 if status.state == "ready" else 503)


class _Headers(BaseHTTPMiddleware):
    """A strict content policy, and a random name for the browser so that a reload finds its own run again."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        if "text/html" in request.headers.get("accept", ""):  # a page: it must come unpacked, to be given the style
            headers = request.scope["headers"]
            request.scope["headers"] = [pair for pair in headers if pair[0] != b"accept-encoding"]
        file = _static_file(request)
        response = await (_packed(file) if file else call_next(request))
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        if response.headers.get("content-type", "").startswith("text/html") and response.status_code == _OK:
            response = await _with_style(response)
            response.headers["Content-Security-Policy"] = _content_policy()
            if LEARNER_COOKIE not in request.cookies:
                response.set_cookie(
                    LEARNER_COOKIE,
                    secrets.token_hex(16),
                    max_age=_COOKIE_AGE,
                    httponly=True,
                    samesite="lax",  # strict would forget a learner who follows a link,
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
    page = (_STREAMLIT / "index.html").read_text()
    inline = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'self'; script-src 'self' blob: {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; "
        "object-src 'none'; base-uri 'self'; frame-ancestors 'self'"
    )


ROUTES = [Route("/plotly.min.js", _plotly), Route("/ready", _ready)]
MIDDLEWARE = [Middleware(BoundedUploads), Middleware(_Headers)]
