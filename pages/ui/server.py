"""What the server adds to Streamlit: files, a readiness page, titles and previews, and a name for each browser."""

import gzip
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from threading import Thread

import plotly
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from inference.server.elsewhere import LaboratoryElsewhere
from pages.ui.course.course import course
from pages.ui.serving import bookmark, cookies
from pages.ui.serving.addresses import canonical
from pages.ui.serving.gate import Gate, base_path
from pages.ui.serving.page_html import PREVIEW, STREAMLIT, content_policy, page_html
from pages.ui.serving.uploads import BoundedUploads
from pages.ui.state import START_RECORDING, laboratory, recorded

log = logging.getLogger(__name__)
_GRACE_S = 3.0  # who starts the app looks at once: their page comes first, and starts the model when it is drawn
_OK, _TEMPORARY = 200, 307
_YEAR = 31_536_000  # seconds
_READS = ("GET", "HEAD")
_ASSETS = ("static/", "media/", "component/", "_stcore/")


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    logging.getLogger("inference").setLevel(logging.INFO)
    lab = laboratory()
    Thread(target=_prepare, args=(lab,), name="first page", daemon=True).start()
    yield
    lab.stop()


def _prepare(lab: LaboratoryElsewhere) -> None:
    """What the first page needs, then a moment for it, then the model: torch's import holds the interpreter."""
    import_module("pages.charts.run.run")
    import_module("pages.ui.parts.live_chart")
    course()
    recorded(START_RECORDING)
    time.sleep(_GRACE_S)
    lab.start()


def on_script_error(error: BaseException) -> None:
    log.error("A page failed (%s)", secrets.token_hex(4), exc_info=error)


async def _plotly(_request: Request) -> Response:
    return await _packed(Path(str(resources.files(plotly).joinpath("package_data/plotly.min.js"))))


async def _preview(_request: Request) -> Response:
    return FileResponse(PREVIEW, headers={"Cache-Control": "public, max-age=86400"})


async def _packed(path: Path) -> Response:
    """A file that never changes under its name, compressed once."""
    headers = {"Content-Encoding": "gzip", "Cache-Control": f"public, max-age={_YEAR}, immutable"}
    kind = "text/css" if path.suffix == ".css" else "text/javascript"
    return Response(await run_in_threadpool(_gzipped, path), media_type=kind, headers=headers)


@cache
def _gzipped(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), compresslevel=6)


def _static_file(request: Request, path: str) -> Path | None:
    """Streamlit's own script or style that is asked for, which it would send unpacked: 10 MB a first visit."""
    if "gzip" not in request.headers.get("accept-encoding", "") or not path.startswith("static/"):
        return None
    file = (STREAMLIT / path).resolve()
    is_ours = file.suffix in (".js", ".css") and file.is_relative_to(STREAMLIT) and file.is_file()
    return file if is_ours else None


async def _ready(_request: Request) -> Response:
    """Whether the model can be used; a load balancer or a test waits for 200."""
    lab = laboratory()
    status = lab.status
    body = {"state": status.state, "waiting": lab.num_waiting}
    return JSONResponse(body, status_code=200 if status.state == "ready" else 503)


class _Pages(BaseHTTPMiddleware):
    """Leads to the right page, asks about bookmarks, and completes the page that Streamlit sends."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        path = request.url.path.removeprefix(base_path()).removeprefix("/")
        if not path.startswith(_ASSETS):
            if request.method in _READS and (right := canonical(path)) is not None:
                query = f"?{request.url.query}" if request.url.query else ""
                return RedirectResponse("./" + "../" * path.count("/") + right + query, _TEMPORARY)
            if answer := bookmark.opened(request):
                return answer
            headers = request.scope["headers"]  # a page must come unpacked, to be completed
            request.scope["headers"] = [pair for pair in headers if pair[0] != b"accept-encoding"]
        file = _static_file(request, path)
        response = await (_packed(file) if file else call_next(request))
        if response.headers.get("content-type", "").startswith("text/html") and response.status_code == _OK:
            return await _completed(response, request, path)
        return response


async def _completed(sent: Response, request: Request, path: str) -> Response:
    """With a title, a policy, and a name for the browser, so that a reload finds its own run again."""
    body = b"".join([chunk async for chunk in sent.body_iterator])  # type: ignore[attr-defined]  # a stream here
    html = await run_in_threadpool(page_html, body.decode(), path=path, url=request.url, base=base_path())
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": content_policy()}
    response = Response(html, media_type="text/html", headers=headers)
    is_secure = request.url.scheme == "https"
    name = cookies.name_in(request.cookies) or cookies.new_name()
    cookies.keep(response, cookies.LEARNER_COOKIE, name, is_secure=is_secure)
    if key := cookies.bookmarked_in(request.cookies):
        cookies.keep(response, cookies.KEY_COOKIE, key, is_secure=is_secure)
    return response


def routes() -> list[Route]:
    """Below the path that the server was given."""
    files = {"/plotly.min.js": _plotly, "/ready": _ready, f"/{PREVIEW.name}": _preview}
    return [Route(f"{base_path()}{path}", endpoint) for path, endpoint in files.items()]


MIDDLEWARE = [Middleware(Gate), Middleware(BoundedUploads), Middleware(_Pages)]
