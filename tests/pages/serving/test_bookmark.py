"""A bookmark is opened on purpose: asked for, answered by a cookie, and never left in the address."""

import pytest
from starlette.testclient import TestClient

from pages.ui.serving.cookies import KEY_COOKIE, LEARNER_COOKIE, key_in, own_key
from quizzes.progress.records import new_key
from tests.pages.serving.serving import HOST, client

NAME = "ab" * 16
KEY = new_key()
SAME_SITE = {"Origin": HOST}


def visitor(**cookies: str) -> TestClient:
    found = client()
    for name, value in ({LEARNER_COOKIE: NAME} | cookies).items():
        found.cookies.set(name, value)
    return found


def continue_with(learner: TestClient, address: str) -> None:
    answer = learner.post(address, headers=SAME_SITE)
    assert answer.status_code == 303
    assert "key=" not in answer.headers["location"]


def test_a_bookmark_asks_and_changes_nothing_by_being_opened() -> None:
    learner = visitor()
    answer = learner.get(f"/lessons?key={KEY}&class=ABCDEFGH")
    assert "Continue as the learner of this bookmark?" in answer.text
    assert "Your own answers here stay under yours." in answer.text
    assert 'href="./lessons?class=ABCDEFGH"' in answer.text  # Stay as I am
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    assert key_in(dict(learner.cookies)) == own_key(NAME)


def test_continue_makes_this_browser_the_learner_of_the_bookmark_and_its_own_bookmark_leads_back() -> None:
    learner = visitor()
    continue_with(learner, f"/lessons?key={KEY}&class=ABCDEFGH")
    assert key_in(dict(learner.cookies)) == KEY
    assert learner.cookies[LEARNER_COOKIE] == NAME
    continue_with(learner, f"/lessons?key={own_key(NAME)}")
    assert key_in(dict(learner.cookies)) == own_key(NAME)


def test_both_cookies_are_out_of_reach_of_scripts_and_renewed_at_every_visit() -> None:
    answer = visitor(**{KEY_COOKIE: KEY}).get("/")
    given = answer.headers.get_list("set-cookie")
    assert {one.split(";")[0] for one in given} == {f"{LEARNER_COOKIE}={NAME}", f"{KEY_COOKIE}={KEY}"}
    for one in given:
        assert "HttpOnly" in one
        assert "SameSite=lax" in one
        assert int(one.split("Max-Age=")[1].split(";")[0]) > 365 * 86_400
    secure = client(host="https://127.0.0.1:8501").get("/")
    assert "Secure" in secure.headers["set-cookie"]


@pytest.mark.parametrize("name", ["", "short", "g" * 32, "AB" * 16, "ab" * 17])
def test_a_browser_with_no_name_of_ours_gets_one(name: str) -> None:
    visitor = client()
    visitor.cookies.set(LEARNER_COOKIE, name)
    given = visitor.get("/").headers["set-cookie"].split(";")[0].removeprefix(f"{LEARNER_COOKIE}=")
    assert key_in({LEARNER_COOKIE: given}) is not None
    assert given != name


@pytest.mark.parametrize("origin", [{}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_another_site_cannot_make_a_browser_somebody_else(origin: dict[str, str]) -> None:
    learner = visitor()
    assert learner.post(f"/lessons?key={KEY}", headers=origin).status_code == 403
    assert key_in(dict(learner.cookies)) == own_key(NAME)


@pytest.mark.parametrize("key", [own_key(NAME), "x" * 10_000, "' OR 1=1 --", "", "<script>"])
def test_ones_own_key_and_one_that_no_learner_can_have_lead_straight_to_the_page(key: str) -> None:
    answer = visitor().get("/lesson-04", params={"key": key, "class": "ABCDEFGH"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "./lesson-04?class=ABCDEFGH"


@pytest.mark.parametrize("path", ["/", "/lesson-4", "/my-data", "/nothing", "//evil.example/x", "/lessons/"])
def test_every_address_with_a_key_ends_on_a_clean_one_of_this_server(path: str) -> None:
    learner = visitor()
    answer = learner.get(f"{HOST}{path}?key={KEY}", follow_redirects=True)
    if "Continue as the learner" in answer.text:
        answer = learner.post(str(answer.url), headers=SAME_SITE, follow_redirects=True)
    assert "key=" not in str(answer.url)
    assert str(answer.url).startswith(f"{HOST}/")


def test_what_the_address_carries_is_not_markup_in_the_question() -> None:
    answer = visitor().get("/lessons", params={"key": KEY, "class": '"><script>alert(1)</script>'})
    assert "<script" not in answer.text
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
