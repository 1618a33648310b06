"""Browsers at which one learner after another sits down: the app stays loaded, and nothing of who was there."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from playwright.sync_api import Browser

from tests.browser.driving.lab_page import LabPage

_NOWHERE = "about:blank"


class Desks:
    """As many browsers as learners were ever here at once: a new one takes twice as long to show a page."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self._free: list[LabPage] = []

    @contextmanager
    def learner(
        self, path: str | None = "/step-through", *, width: int = 1280, scheme: str = "light"
    ) -> Iterator[LabPage]:
        """A learner's own browser; fails on any console error or foreign request."""
        lab = self._free.pop() if self._free else LabPage.open(self._browser, self._address, None)
        with ExitStack() as unless_all_is_well:
            unless_all_is_well.callback(lab.context.close)
            lab.page.set_viewport_size({"width": width, "height": 800})
            lab.page.emulate_media(media="screen", color_scheme="dark" if scheme == "dark" else "light")
            if path is not None:
                lab.go(path)
            yield lab
            _clear(lab)
            lab.expect_no_problem()
            unless_all_is_well.pop_all()
            self._free.append(lab)


def _clear(lab: LabPage) -> None:
    for page in lab.context.pages:
        if page is not lab.page:
            page.close()
    if lab.page.url != _NOWHERE:
        lab.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    lab.page.mouse.move(-1, -1)  # a pointer that stays would hover over the next learner's page
    lab.page.goto(_NOWHERE)
    lab.context.clear_cookies()
