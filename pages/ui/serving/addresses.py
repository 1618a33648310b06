"""Every page with its address, title and description; and other spellings of an address that lead to it."""

import re
from dataclasses import dataclass
from pathlib import Path

from inference.files.safe_yaml import read_yaml
from pages.ui.course.course import course

SITE = "Two Phases"
_LONGEST_PATH = 200  # characters; none of ours is longer


@dataclass(frozen=True, slots=True)
class Page:
    path: str
    title: str
    description: str
    script: str = ""
    """Below `pages/`, without its ending; empty for a lesson."""


def _read(path: Path) -> dict[str, tuple[Page, ...]]:
    return {name: tuple(Page(**page) for page in group) for name, group in read_yaml(path).items()}


PAGES = _read(Path(__file__).parent / "addresses.yaml")
"""By heading of the sidebar, lessons left out."""
START = PAGES["Learn"][0]


def slug(text: str) -> str:
    """Text as part of an address: With and without, with-and-without."""
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")


def tab_title(title: str) -> str:
    """What the browser's tab, a bookmark and a preview say."""
    return f"{title} · {SITE}"


def pages() -> dict[str, Page]:
    """Every page by its address, lessons included."""
    lessons = [
        Page(f"lesson-{lesson.number:02}", f"{lesson.number}. {lesson.title}", lesson.summary)
        for lesson in course().lessons
    ]
    return {page.path: page for page in [*(page for group in PAGES.values() for page in group), *lessons]}


def page_at(path: str) -> Page | None:
    """The page at this address, below the server's root; None where there is none."""
    return START if path == "" else None if path == START.path else pages().get(path)


def canonical(path: str) -> str | None:
    """The address that another spelling of it means: lesson-2, lessons/2, lesson-kv-cache, KV_Cache, start.

    None where the address is right already, or means nothing here.
    """
    if len(path) > _LONGEST_PATH or page_at(path):
        return None
    name = slug(path)
    if name in ("", START.path):
        return ""
    address = _other_names().get(re.sub(r"^lessons?-0*(?=\d)", "lesson-", name))
    return address if address != path else None


def _other_names() -> dict[str, str]:
    names = {name: page.path for page in pages().values() for name in (slug(page.title), page.path)}
    names |= {slug(page.script.rpartition("/")[2]): page.path for page in pages().values() if page.script}
    for lesson in course().lessons:
        path = f"lesson-{lesson.number:02}"
        others = (str(lesson.number), lesson.id, slug(lesson.title))
        names |= {f"{before}-{other}": path for before in ("lesson", "lessons") for other in others}
    return names
