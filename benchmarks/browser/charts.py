"""From the click on Next token to the last of the five charts updated, without the pass: early and late in a run.

Two pages, one near step 10 and one near step 500, are clicked in turn, so that both see the same machine.
A chart counts as updated when Plotly has finished and the chart carries a newer stamp. The way to step 495 is
gone without a browser, by the websocket; the page then finds the run by the learner's cookie.
"""

import asyncio
import secrets
import statistics
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from benchmarks.browser.browser import chromium, fresh_page, layout_shift
from benchmarks.learners.socket_client import LEARNER_COOKIE, learner
from benchmarks.measurement import Measurement
from benchmarks.models import PROMPT
from benchmarks.server import server

_EARLY, _LATE = 5, 495  # where the two runs stand before the first click
_CLICKS = 11  # the first warms up
_PLAYED = 40
_MAXIMUM = 600
_IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'

_ARM = """() => {
  const charts = () => [...document.querySelectorAll(".tp-chart")]
  const before = Math.max(...charts().map((chart) => Number(chart.dataset.drawn)))
  let clicked
  document.addEventListener("click", () => { clicked = performance.now() }, { capture: true, once: true })
  window.updated = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const drawn = charts().filter((chart) => Number(chart.dataset.drawn) > before)
      if (clicked === undefined || drawn.length < 5) return
      observer.disconnect()
      resolve(performance.now() - clicked)
    })
    observer.observe(document.body, { subtree: true, attributeFilter: ["data-drawn"] })
  })
}"""
_NEWEST_DECODE = """() => {
  const plot = document.querySelector(".st-key-card-latency .tp-plot")
  const newest = plot.calcdata.find(([point]) => point.trace.name === "decode").at(-1)
  return [newest.p ?? newest.x, newest.s ?? newest.y] // a bar, or a point of the skyline
}"""


def run() -> list[Measurement]:
    early_ms, late_ms = [], []
    with server() as port:
        names = [asyncio.run(_step(port, num_steps)) for num_steps in (_EARLY, _LATE)]
        with chromium() as browser:
            early, late = _page(browser, port, names[0], _EARLY), _page(browser, port, names[1], _LATE)
            for _ in range(_CLICKS):
                early_ms.append(_click(early))
                late_ms.append(_click(late))
            shift = _shift_of_play(browser, port)
    early_ms, late_ms = early_ms[1:], late_ms[1:]
    at_10, at_500 = statistics.median(early_ms), statistics.median(late_ms)
    return [
        Measurement("click to charts at step 10", at_10, "ms", limit=300, detail=_spread(early_ms)),
        Measurement("click to charts at step 500", at_500, "ms", detail=_spread(late_ms)),
        Measurement("click to charts, step 500 / step 10", at_500 / at_10, limit=1.5),
        Measurement(f"layout shift, {_PLAYED} steps playing", shift, limit=0.1),
    ]


async def _step(port: int, num_steps: int) -> str:
    """Take a learner to `num_steps` without a browser; their name."""
    name = secrets.token_hex(16)
    async with learner(port, "step-through", query=_link(1), name=name) as person:
        while person.step < num_steps:
            await (person.press("next") if person.step else person.rerun())
    return name


def _page(browser: Browser, port: int, name: str, num_steps: int) -> Page:
    """The learner's lab page in a browser."""
    page, address = fresh_page(browser), f"http://127.0.0.1:{port}"
    page.context.add_cookies([{"name": LEARNER_COOKIE, "value": name, "url": address}])
    page.goto(f"{address}/step-through")
    _settle(page, num_steps)
    return page


def _link(num_steps: int) -> str:
    return urlencode({"prompt": PROMPT, "max": _MAXIMUM, "steps": num_steps})


def _settle(page: Page, num_steps: int) -> None:
    page.get_by_text(f"step {num_steps} of {_MAXIMUM}").wait_for()
    page.locator(_IDLE).wait_for()
    page.wait_for_timeout(1000)


def _shift_of_play(browser: Browser, port: int) -> float:
    page = fresh_page(browser)
    page.goto(f"http://127.0.0.1:{port}/step-through?{_link(_PLAYED)}")
    _settle(page, _PLAYED)
    return layout_shift(page)


def _click(page: Page) -> float:
    """Milliseconds from the click to the fifth chart, less the forward pass that the page itself measured."""
    number, _ = page.evaluate(_NEWEST_DECODE)
    page.evaluate(_ARM)
    page.locator(".st-key-next button").click()
    waited_ms = float(page.evaluate("window.updated"))
    newest, forward_ms = page.evaluate(_NEWEST_DECODE)
    if newest != number + 1:
        raise RuntimeError(f"one click led from step {number} to step {newest}")
    page.locator(_IDLE).wait_for()
    return waited_ms - float(forward_ms)


def _spread(values_ms: list[float]) -> dict[str, float | str]:
    return {"least_ms": min(values_ms), "most_ms": max(values_ms), "num_clicks": len(values_ms)}
