"""Who is let in, and what every answer carries."""

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from pages.ui.serving.gate import host_is_ours
from tests.pages.serving.serving import client, setting

STREAM = "/_stcore/stream"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/lesson-02", 200),
        ("/nothing", 200),
        ("/lesson-2", 307),
        ("/?key=AAAAAAAAAAAAAAAAAAAAAA", 200),
        ("/?key=none", 303),
        ("/static/css/none.css", 200),
        ("/favicon.png", 200),
        ("/plotly.min.js", 200),
        ("/preview.png", 200),
        ("/ready", 503),
        ("/x/_stcore/health", 404),
        ("/_stcore/metrics", 404),
        ("/static/%00", 400),
        ("/lesson-%00", 400),
    ],
)
def test_every_answer_says_how_it_may_be_read_and_where_it_came_from(path: str, status: int) -> None:
    answer = client().get(path)
    assert answer.status_code == status if path != "/ready" else answer.status_code in (200, 503)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    if answer.headers.get("content-type", "").startswith("text/html"):
        policy = answer.headers["content-security-policy"]
        for rule in ("default-src", "form-action 'self'", "frame-ancestors", "base-uri"):
            assert rule in policy
        assert "frame-ancestors *" not in policy
        assert "'unsafe-eval'" not in policy


def test_a_style_sent_packed_is_the_file_streamlit_ships() -> None:
    page = client().get("/").text
    path = page.split('rel="stylesheet" crossorigin href=".')[1].split('"')[0]
    packed = client().get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["x-content-type-options"] == "nosniff"
    assert packed.content == client().get(path, headers={"Accept-Encoding": "identity"}).content


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "127.0.0.1.evil.example", "192.168.1.5", ""])
def test_a_foreign_name_is_refused_with_the_remedy(host: str) -> None:
    answer = client().get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert "STREAMLIT_SERVER_ALLOWED_HOSTS" in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1", "127.1.2.3:80", "[::1]:8501", "LOCALHOST"])
def test_this_machine_is_let_in_by_every_name_of_its_own(host: str) -> None:
    assert client().get("/", headers={"Host": host}).status_code == 200


def test_a_class_is_let_in_by_address_where_the_server_listens_to_others_and_by_the_names_that_are_set() -> None:
    with setting("server.address", "0.0.0.0"):
        assert host_is_ours("192.168.1.5:8501")
        assert host_is_ours("[fe80::1]:8501")
        assert not host_is_ours("evil.example")
        with setting("server.allowedHosts", ["lab.example", "*.school.example"]):
            assert host_is_ours("lab.example:443")
            assert host_is_ours("a.school.example")
            assert host_is_ours("127.0.0.1:8501")
            assert not host_is_ours("192.168.1.5")
            assert not host_is_ours("evil.example")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example", "http://evil.example"),
        ("127.0.0.1:8501", "http://evil.example"),
        ("127.0.0.1:8501", "http://127.0.0.1:9999"),
        ("127.0.0.1:8501", "null"),
    ],
)
def test_a_socket_of_another_sites_page_is_refused(host: str, origin: str) -> None:
    with pytest.raises(WebSocketDisconnect), _socket(client(), {"Host": host, "Origin": origin}):
        pass


def test_a_socket_of_our_own_page_is_let_in_and_so_is_an_origin_that_was_set() -> None:
    with _socket(client(), {"Origin": "http://127.0.0.1:8501"}):
        pass
    with (
        setting("server.corsAllowedOrigins", ["https://lab.example"]),
        _socket(client(), {"Origin": "https://lab.example"}),
    ):
        pass


def _socket(visitor: TestClient, headers: dict[str, str]):  # type: ignore[no-untyped-def]  # a session of Starlette's
    return visitor.websocket_connect(STREAM, headers={"Host": "127.0.0.1:8501"} | headers)
