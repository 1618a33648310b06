"""The main screen in a browser, by the names a learner reads: the one place that knows selectors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.driving.answers import Answers

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
_DRAWN = "[data-testid=stMain] [data-testid=stElementContainer]"
PATIENCE_S = 90
"""What any one thing on a page may take: a busy machine is no fault of the app's."""
CHARTS = ("candidates", "latency", "kv", "roofline", "map")
_STILL = """() => !document.querySelector("[data-stale=true]") && document.getAnimations().every(
    one => one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity)"""
_MOUNTED = """() => [...document.querySelectorAll(".tp-chart")].every(
    one => one.dataset.drawn || !one.offsetParent || one.querySelector(".tp-plot").hidden)"""
_MOVE = """address => {
    history.pushState({}, "", address)
    dispatchEvent(new PopStateEvent("popstate", { state: {} }))
}"""
# Streamlit asks below the page's own path first when a deep link is opened, then at the root (hazards: H22).
_EXPECTED_404 = re.compile(r"/[\w-]+/_stcore/(health|host-config)$")


@dataclass
class LabPage:
    page: Page
    context: BrowserContext
    address: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers = Answers(self.page)

    @classmethod
    def open(
        cls,
        browser: Browser,
        address: str,
        path: str | None = "/step-through",
        *,
        width: int = 1280,
        scheme: str = "light",
    ) -> "LabPage":
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        lab = cls(context.new_page(), context, address)
        lab._watch()
        if path is not None:
            lab.go(path)
        return lab

    def go(self, path: str) -> None:
        with self._loaded():
            self.page.goto(self.address + path)

    def move(self, path: str) -> None:
        """To another page as a link of the app, or Back, leads there: what is loaded stays."""
        with self._loaded():
            self.page.evaluate(_MOVE, self.address + path)

    def reload(self) -> None:
        with self._loaded():
            self.page.reload()

    @contextmanager
    def _loaded(self) -> Iterator[None]:
        """At the end the server's first answer stands on the page: before it, a page at rest is an empty one."""
        num_asked = self.answers.num_asked
        yield
        self.answers.wait_for(num_asked + 1, PATIENCE_S)
        self.page.wait_for_selector(_DRAWN, state="attached")
        self.wait_still()

    def close(self) -> None:
        self.context.close()
        self.expect_no_problem()

    def expect_no_problem(self) -> None:
        assert not self.problems, self.problems

    def _watch(self) -> None:
        host = urlsplit(self.address).netloc

        def on_request(url: str) -> None:
            parts = urlsplit(url)
            if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != host:
                self.problems.append(f"foreign request: {url}")

        def on_response(status: int, url: str) -> None:
            if status >= 400 and not _EXPECTED_404.search(url):
                self.problems.append(f"HTTP {status}: {url}")

        self.page.on("request", lambda request: on_request(request.url))
        self.page.on("response", lambda response: on_response(response.status, response.url))
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on(
            "console",
            lambda message: (
                self.problems.append(f"console: {message.text}")
                if message.type == "error" and "status of 404" not in message.text
                else None
            ),
        )

    def wait_idle(self) -> None:
        self.page.wait_for_selector(IDLE)

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Whatever is pressed inside has been answered by the server, and drawn, at the end."""
        before = self.answers.num_asked
        yield
        self.answers.wait(before, PATIENCE_S)
        self.wait_idle()

    def wait_still(self) -> None:
        """Until nothing of the last view is left and nothing fades or slides any more."""
        self.wait_idle()
        self.page.wait_for_function(_STILL)

    def wait_mounted(self) -> None:
        """Until every chart in sight has been drawn: components mount after the script has ended."""
        self.wait_still()
        self.page.wait_for_function(_MOUNTED)

    def wait_all_answered(self) -> None:
        """Until the server has answered everything that was asked so far."""
        self.answers.wait(self.answers.num_asked - 1, PATIENCE_S)
        self.wait_idle()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=False).first

    def press(self, name: str) -> None:
        self.button(name).click()

    def set_prompt(self, text: str) -> None:
        box = self.page.get_by_role("textbox", name="Prompt")
        box.fill(text)
        box.blur()
        self.wait_idle()

    def prefill(self, prompt: str | None = None) -> None:
        if prompt is not None:
            self.set_prompt(prompt)
        self.press("Prefill")
        self.expect_step(1)

    def next(self, number: int) -> None:
        """Press Next token once and wait for that step; a press during a drawing would be lost."""
        self.wait_idle()
        self.press("Next token")
        self.expect_step(number)

    def expect_step(self, number: int, timeout_s: float = PATIENCE_S) -> None:
        expect(self.page.get_by_text(re.compile(rf"^step {number} of "))).to_be_visible(timeout=timeout_s * 1000)

    def expect_step_from(self, number: int) -> None:
        """Until at least that step is shown: while playing, one step alone is quickly gone."""
        later = "|".join(str(later) for later in range(number, number + 100))
        self.expect_text(re.compile(rf"^step ({later}) of "))

    def expect_text(self, text: str | re.Pattern[str], timeout_s: float = PATIENCE_S) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=timeout_s * 1000)

    def tokens(self) -> list[str]:
        """What the strip shows, token by token, later steps included."""
        return self.page.locator(".strip .token").all_inner_texts()

    def set_sampling(self, label: str, value: str) -> None:
        self.press("Sampling")
        field = self.page.get_by_role("spinbutton", name=label)
        field.fill(value)
        field.press("Enter")
        self.page.keyboard.press("Escape")
        self.wait_idle()

    def wait_drawn(self) -> None:
        """Until every chart has been drawn at least once."""
        for key in CHARTS:
            self.page.wait_for_selector(f".st-key-{key} .tp-chart[data-drawn]")

    def view(self, name: str) -> None:
        """Choose one view of a lab and wait until it is drawn."""
        with self.answered():
            self.page.locator("[data-testid=stButtonGroup]").get_by_text(name, exact=True).first.click()
        self.wait_mounted()

    def see_known(self) -> bool:
        """What somebody measured on this machine before, without a guess; False where nobody has."""
        veil = self.button("Show me")
        if not veil.is_visible():
            return False
        with self.answered():
            veil.click()
        self.wait_mounted()
        return True

    def exported(self, label: str) -> str:
        self.press("Export")
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=label).click()
        self.page.keyboard.press("Escape")
        return download.value.path().read_text()
