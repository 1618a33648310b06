"""Addresses: every page says what it is before any script has run, and other spellings lead to it."""

import struct
from pathlib import Path

import pytest

from lessons import load_lessons
from pages.ui.serving.addresses import PAGES, pages
from tests.pages.serving.serving import HOST, client, meta, setting, title

LESSONS = load_lessons()
ADDRESSES = ["" if path == "start" else path for path in pages()]


def test_every_lesson_and_every_script_has_an_address() -> None:
    scripts = {f"{path.parent.name}/{path.stem}" for path in Path("pages").glob("*/*.py")}
    scripts = {one for one in scripts if one.split("/")[0] in ("learn", "lab", "plan", "check")}
    assert {page.script for group in PAGES.values() for page in group} == {
        one for one in scripts if not one.endswith("__init__")
    }
    assert len(ADDRESSES) == len(scripts) - 4 + len(LESSONS)


@pytest.mark.parametrize("path", ADDRESSES)
def test_the_raw_page_has_its_own_title_description_and_preview(path: str) -> None:
    html = client().get(f"/{path}").text
    page, said = pages()[path or "start"], meta(html)
    assert title(html) == said["og:title"] == f"{page.title} · Two Phases"
    assert said["description"] == said["og:description"] == page.description
    assert 40 <= len(page.description) <= 200
    assert said["og:url"] == f"{HOST}/{path}"
    assert said["twitter:card"] == "summary_large_image"
    assert said["og:image"] == f"{HOST}/preview.png"


def test_no_two_pages_have_one_title_or_description() -> None:
    everyone = pages().values()
    assert len({page.title for page in everyone}) == len({page.description for page in everyone}) == len(everyone)


def test_the_preview_picture_is_served_in_the_size_that_is_said() -> None:
    answer = client().get("/preview.png")
    assert answer.headers["content-type"] == "image/png"
    assert struct.unpack(">II", answer.content[16:24]) == (1200, 630)  # the header chunk of a PNG
    assert len(answer.content) < 150_000


def test_a_page_sent_packed_on_request_is_complete_too() -> None:
    packed = client().get("/planner", headers={"Accept": "*/*", "Accept-Encoding": "gzip"})
    assert title(packed.text) == "Planner · Two Phases"


@pytest.mark.parametrize(
    ("other", "right"),
    [
        ("/start", "/"),
        ("/Start", "/"),
        ("/lesson-2", "/lesson-02"),
        ("/lesson-13", None),
        ("/lesson-002", "/lesson-02"),
        ("/lessons/2", "/lesson-02"),
        ("/lesson-prefill", "/lesson-02"),
        ("/lesson-kv-cache", "/lesson-05"),
        ("/lesson-the-kv-cache", "/lesson-05"),
        ("/lesson-02/", "/lesson-02"),
        ("/kv_cache", "/kv-cache"),
        ("/KV-Cache", "/kv-cache"),
        ("/speculative", "/speculative-decoding"),
        ("/my%20data", "/my-data"),
        ("/classroom", "/class"),
        ("/lesson-14", None),
        ("/nothing", None),
        ("/" + "a" * 5_000, None),
    ],
)
def test_another_spelling_leads_to_the_page_with_its_parameters(other: str, right: str | None) -> None:
    answer = client().get(f"{other}?class=ABCDEFGH")
    if right is None:
        assert answer.status_code == 200
    else:
        assert answer.status_code == 307
        assert str(answer.next_request and answer.next_request.url) == f"{HOST}{right}?class=ABCDEFGH"


@pytest.mark.parametrize("path", ["/", "/lesson-2", "/lessons/2", "/planner"])
def test_under_a_base_path_all_is_below_it(path: str) -> None:
    with setting("server.baseUrlPath", "course/phases"):
        visitor = client(base="course/phases")
        answer = visitor.get(f"/course/phases{path}", follow_redirects=True)
        assert meta(answer.text)["og:image"] == f"{HOST}/course/phases/preview.png"
        for file, kind in {"plotly.min.js": "text/javascript", "preview.png": "image/png"}.items():
            assert visitor.get(f"/course/phases/{file}").headers["content-type"].startswith(kind)
        assert visitor.get("/course/phases/ready").json()["state"] in ("loading", "ready")
