"""A first visit to a warm server: seconds to something useful, bytes and requests, hosts, layout shift.

Useful is the start page with its heading and with tokens in its strip; the replay's chart, which needs Plotly,
is timed beside it. Every visit is a new browser context: no cache, no cookies.
"""

import statistics
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession

from benchmarks.browser.browser import chromium, fresh_page, layout_shift
from benchmarks.measurement import Measurement
from benchmarks.server import server

_VISITS = 5
_SETTLE_MS = 2000

# A promise and not Playwright's wait_for_function, which evaluates text: the page's content policy forbids that.
_WATCH_PAINT = """
window.painted = new Promise((resolve) => {
  const times = {}
  const look = () => {
    const card = document.querySelector(".st-key-card-replay")
    const inside = [...(card?.querySelectorAll("*") ?? [])]
    const roots = [card, ...inside.map((node) => node.shadowRoot)].filter(Boolean)
    const hasTokens = roots.some((root) => root.querySelector(".strip .token"))
    if (document.querySelector("h1")?.textContent && hasTokens) times.useful ??= performance.now()
    if (document.querySelector(".tp-chart[data-drawn]")) times.chart ??= performance.now()
    if (times.useful && times.chart) resolve(times)
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})
"""


@dataclass  # no slots: Playwright writes on the objects whose methods it calls
class _Visit:
    useful_s: float = 0.0
    chart_s: float = 0.0
    wire_bytes: int = 0
    socket_bytes: int = 0
    num_requests: int = 0
    shift: float = 0.0
    hosts: set[str] = field(default_factory=set)

    def listen(self, session: CDPSession) -> None:
        session.on("Network.requestWillBeSent", lambda event: self._request(event["request"]["url"]))
        session.on("Network.webSocketCreated", lambda event: self._request(event["url"]))
        session.on("Network.loadingFinished", self._finished)
        session.on("Network.webSocketFrameReceived", self._frame)
        session.send("Network.enable")

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss"):
            self.num_requests += 1
            self.hosts.add(parts.hostname or "")

    def _finished(self, event: dict[str, Any]) -> None:
        self.wire_bytes += int(event["encodedDataLength"])

    def _frame(self, event: dict[str, Any]) -> None:
        self.socket_bytes += len(event["response"]["payloadData"]) * 3 // 4  # base64; before compression


def run() -> list[Measurement]:
    with server() as port, chromium() as browser:
        visits = [_visit(browser, f"http://127.0.0.1:{port}/") for _ in range(_VISITS + 1)][1:]
    useful = [visit.useful_s for visit in visits]
    foreign = set().union(*(visit.hosts for visit in visits)) - {"127.0.0.1"}
    last = visits[-1]
    detail = {"least_s": min(useful), "most_s": max(useful), "num_visits": len(useful)}
    return [
        Measurement("first useful paint, cold", statistics.median(useful), "s", limit=1.5, detail=detail),
        Measurement("first chart drawn, cold", statistics.median(visit.chart_s for visit in visits), "s"),
        Measurement("first visit, bytes", last.wire_bytes / 1e6, "MB", detail={"socket_bytes": last.socket_bytes}),
        Measurement("first visit, requests", last.num_requests),
        Measurement("foreign hosts", len(foreign), limit=0, detail={"hosts": ", ".join(sorted(foreign))}),
        Measurement("layout shift at load", max(visit.shift for visit in visits), limit=0.1),
    ]


def _visit(browser: Browser, address: str) -> _Visit:
    page, visit = fresh_page(browser), _Visit()
    page.add_init_script(_WATCH_PAINT)
    visit.listen(page.context.new_cdp_session(page))
    page.goto(address)
    times_ms = page.evaluate("window.painted")
    page.wait_for_timeout(_SETTLE_MS)
    visit.useful_s, visit.chart_s = times_ms["useful"] / 1e3, times_ms["chart"] / 1e3
    visit.shift = layout_shift(page)
    page.context.close()
    return visit
