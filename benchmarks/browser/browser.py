"""Chromium, and the script that watches layout shifts in every page it opens."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

# Shifts within 500 ms of a click are the click's own and do not count, as in the web's definition of CLS.
WATCH_SHIFTS = """
window.shifts = []
new PerformanceObserver((list) => {
  const uncaused = list.getEntries().filter((shift) => !shift.hadRecentInput)
  window.shifts.push(...uncaused.map((shift) => [shift.startTime, shift.value]))
}).observe({ type: "layout-shift", buffered: true })
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("the browser benchmarks need Chromium; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def fresh_page(browser: Browser) -> Page:
    """A page with an empty cache, no cookies and a laptop's window."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.add_init_script(WATCH_SHIFTS)
    return page


def layout_shift(page: Page) -> float:
    """Cumulative layout shift: the worst burst, of at most 5 s and with no pause of 1 s (web.dev/articles/cls)."""
    worst = burst = 0.0
    began_ms = last_ms = float("-inf")
    for at_ms, value in page.evaluate("window.shifts"):
        if at_ms - last_ms > 1000 or at_ms - began_ms > 5000:
            burst, began_ms = 0.0, at_ms
        burst, last_ms = burst + value, at_ms
        worst = max(worst, burst)
    return worst
