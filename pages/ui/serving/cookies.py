"""Who looks: a browser's random name, and the bookmark it opened on purpose. Cookies hold both, no address does."""

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping

from starlette.responses import Response

from quizzes.progress.records import is_key

LEARNER_COOKIE = "two_phases_learner"
"""The browser's own random name; its learner's key is made from it."""
KEY_COOKIE = "two_phases_bookmark"
"""The key of a bookmark that was opened on purpose, in place of the browser's own."""
_AGE = 400 * 86_400  # seconds; browsers keep none for longer


def new_name() -> str:
    return secrets.token_hex(16)


def name_in(cookies: Mapping[str, str]) -> str | None:
    """The browser's name; None without one that this server could have given."""
    name = cookies.get(LEARNER_COOKIE, "")
    return name if isinstance(name, str) and re.fullmatch(r"[0-9a-f]{32}", name) else None


def own_key(name: str) -> str:
    """128 bits, made from the browser's random name."""
    digest = hashlib.sha256(f"two-phases progress\n{name}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


def bookmarked_in(cookies: Mapping[str, str]) -> str | None:
    key = cookies.get(KEY_COOKIE)
    return key if is_key(key) else None


def key_in(cookies: Mapping[str, str]) -> str | None:
    """Whose answers this browser sees and gives; None for a browser without a name."""
    name = name_in(cookies)
    return bookmarked_in(cookies) or (own_key(name) if name else None)


def keep(response: Response, cookie: str, value: str, *, is_secure: bool) -> None:
    """Out of reach of scripts, and renewed at every visit."""
    response.set_cookie(
        cookie,
        value,
        max_age=_AGE,
        httponly=True,
        secure=is_secure,
        samesite="lax",  # strict would forget a learner who follows a link
    )
