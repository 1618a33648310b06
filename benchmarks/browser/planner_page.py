"""A change on the planner's page: from the key press to the new answer and a page at rest, under every view."""

import statistics

from playwright.sync_api import Page

from benchmarks.browser.browser import chromium, fresh_page
from benchmarks.measurement import Measurement
from benchmarks.server import server

_FIELD = "Output tokens"
_VALUES = (401, 402, 403, 404, 405, 406)  # the first warms the view up
_CARD, _VIEWS = ".st-key-card-planner-answer", ".st-key-planner-view button"

# The clock starts at the key itself. Text in shadow roots counts: a component draws the answer.
_WATCH = """
window.addEventListener("keydown", (event) => {
  if (event.key === "Enter") window.pressedAt = performance.now()
}, true)
window.answer = () => {
  const nodes = [...document.querySelectorAll("%s *")]
  return nodes.map((node) => node.shadowRoot?.textContent ?? "").join("") + nodes.map((n) => n.textContent).join("")
}
window.watchAnswer = () => {
  const before = window.answer()
  window.answered = new Promise((resolve) => {
    const look = () => {
      const state = document.querySelector("[data-testid=stApp]").dataset.testScriptState
      if (window.answer() !== before && state === "notRunning") resolve(performance.now() - window.pressedAt)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
}
"""


def run() -> list[Measurement]:
    with server() as port, chromium() as browser:
        page = fresh_page(browser)
        page.add_init_script(_WATCH % _CARD)
        page.goto(f"http://127.0.0.1:{port}/planner")
        page.locator(_VIEWS).first.wait_for()
        by_view = {name: _under(page, name) for name in page.locator(_VIEWS).all_inner_texts()}
    slowest = max(by_view, key=lambda name: by_view[name])
    return [
        Measurement(
            "planner, a change answered, slowest view",
            by_view[slowest],
            "ms",
            limit=300,
            detail={"view": slowest, **by_view},
        )
    ]


def _under(page: Page, view: str) -> float:
    """Median milliseconds of a new number of output tokens with this view open."""
    page.locator(_VIEWS, has_text=view).click()
    page.wait_for_timeout(1500)
    field, times_ms = page.get_by_label(_FIELD, exact=True), []
    for value in _VALUES:
        field.fill(str(value))
        page.evaluate("window.watchAnswer()")
        field.press("Enter")
        times_ms.append(float(page.evaluate("window.answered")))
        page.wait_for_timeout(200)
    return statistics.median(times_ms[1:])
