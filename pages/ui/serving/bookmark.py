"""A bookmark is opened on purpose: an address with a key asks first, and is clean afterwards."""

from html import escape
from pathlib import Path
from string import Template
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from pages.ui.serving import cookies
from quizzes.progress.records import is_key

PARAMETER = "key"
_QUESTION = Template((Path(__file__).parent / "bookmark.html").read_text())
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_SEE_OTHER = 303


def opened(request: Request) -> Response | None:
    """What a page's address with a key is answered with; None for one without.

    The browser's own key, and one that no learner can have, lead straight to the clean address.
    """
    if PARAMETER not in request.query_params:
        return None
    key, clean = request.query_params[PARAMETER], _clean(request)
    if not is_key(key) or key == cookies.key_in(request.cookies):
        return _no_store(RedirectResponse(clean, _SEE_OTHER))
    if request.method == "POST":
        return _no_store(_continue(request, key, clean))
    question = HTMLResponse(_QUESTION.substitute(clean=escape(clean)))
    question.headers["Content-Security-Policy"] = _POLICY
    return _no_store(question)


def _clean(request: Request) -> str:
    """The same page without the key; relative, so that it leads to no other server."""
    others = [(name, value) for name, value in request.query_params.multi_items() if name != PARAMETER]
    page = "./" + request.url.path.rpartition("/")[2]
    return f"{page}?{urlencode(others)}" if others else page


def _continue(request: Request, key: str, clean: str) -> Response:
    if urlsplit(request.headers.get("origin", "")).netloc != request.headers.get("host"):
        return PlainTextResponse("Another site asked for this. Open the bookmark itself.", 403)
    name = cookies.name_in(request.cookies)
    response = RedirectResponse(clean, _SEE_OTHER)
    if name and key == cookies.own_key(name):  # back from another's
        response.delete_cookie(cookies.KEY_COOKIE)
    else:
        cookies.keep(response, cookies.KEY_COOKIE, key, is_secure=request.url.scheme == "https")
    return response


def _no_store(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
