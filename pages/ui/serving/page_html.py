"""The page that a browser, or a program that makes a preview, gets before any script has run."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path

import streamlit
from starlette.datastructures import URL

from pages.ui.serving.addresses import SITE, START, Page, page_at, tab_title

PREVIEW = Path(__file__).parent / "preview.png"
"""1200 x 630, as previews are shown."""
STREAMLIT = Path(str(resources.files(streamlit).joinpath("static"))).resolve()
_HERE = Path(__file__).parent
_STYLE = "".join((_HERE / name).read_text() for name in ("style.css", "print.css"))
_SCRIPT = (_HERE / "history.js").read_text()


def page_html(html: str, *, path: str, url: URL, base: str) -> str:
    """Streamlit's page with its title, what previews are made of, and our layout from the first paint on.

    `path` is below `base`, where the server lives. The host of `url` was let in by the gate.
    """
    page = page_at(path)
    title = tab_title(page.title) if page else SITE
    html = re.sub("<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", html, count=1)
    head = _preview(page or START, title, url, base) + f"<style>{_STYLE}</style><script>{_SCRIPT}</script>"
    return html.replace("</head>", f"{head}</head>", 1)


def _preview(page: Page, title: str, url: URL, base: str) -> str:
    root = f"{url.scheme}://{url.netloc}{base}"
    properties = {
        "og:type": "website",
        "og:site_name": SITE,
        "og:title": title,
        "og:description": page.description,
        "og:url": f"{root}/{'' if page is START else page.path}",
        "og:image": f"{root}/{PREVIEW.name}",
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": "A prompt, its answer token by token, and the time of every pass.",
    }
    names = {"description": page.description, "twitter:card": "summary_large_image"}
    return "".join(
        f'<meta {kind}="{name}" content="{escape(content)}">'
        for kind, pairs in (("property", properties), ("name", names))
        for name, content in pairs.items()
    )


@cache
def content_policy() -> str:
    scripts = re.findall(r"<script>(.*?)</script>", (STREAMLIT / "index.html").read_text(), flags=re.DOTALL)
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in [*scripts, _SCRIPT]
    ]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'self'; script-src 'self' blob: {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; object-src 'none'; "
        "base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
    )
