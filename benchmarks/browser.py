"""Chromium, and the script that watches layout shifts in every page it opens."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

# Shifts within 500 ms of a click are the click's own and do not count, as in the web's own definition of CLS.
WATCH_SHIFTS = """
window.shiftSum = 0
window.shiftsOf = []
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) {
    if (shift.hadRecentInput) continue
    window.shiftSum += shift.value
    const nodes = shift.sources.map((source) => source.node?.closest?.("[class*='st-key-'],[data-testid]"))
    window.shiftsOf.push(...nodes.filter(Boolean).map((node) => node.className + " " + node.dataset.testid))
  }
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
    context.set_default_timeout(30_000)
    page = context.new_page()
    page.add_init_script(WATCH_SHIFTS)
    return page


def shift_sum(page: Page) -> float:
    return float(page.evaluate("window.shiftSum"))
