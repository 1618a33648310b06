"""Nothing is replaced, nothing jumps, nobody is shut out: observers in the browser say so."""

import pytest
from playwright.sync_api import Browser

from tests.browser.driving.desks import Desks
from tests.browser.driving.lab_page import CHARTS, LabPage
from tests.browser.driving.steady import check

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

# The slider's thumb is meant to move; everything else stays where it is.
_WATCH = """keys => {
    window.moved = []
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) for (const { node, previousRect, currentRect } of entry.sources) {
            const element = node?.nodeType === 1 ? node : node?.parentElement
            if (element && !element.closest(".st-key-step"))
                window.moved.push([element.outerHTML.slice(0, 200), previousRect, currentRect])
        }
    }).observe({ type: "layout-shift" })
    window.plots = keys.map(key => document.querySelector(`.st-key-${key} .tp-plot .main-svg`))
    window.removed = []
    const chart = ".tp-chart, .tp-plot, .main-svg"
    new MutationObserver(records => {
        for (const { removedNodes } of records) for (const node of removedNodes)
            if (node.nodeType === 1 && (node.matches(chart) || node.querySelector(chart)))
                window.removed.push(String(node.className.baseVal ?? node.className))
    }).observe(document.body, { childList: true, subtree: true })
}"""
_LOAD_SHIFT = """() => new Promise(resolve => {
    new PerformanceObserver(list => resolve(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
        .observe({ type: "layout-shift", buffered: true })
    setTimeout(() => resolve(0), 1000) // an observer with nothing to say never calls
})"""
_KEPT = "() => window.plots.every(node => node && node.isConnected)"


def test_stepping_playing_and_scrubbing_replace_no_chart_and_move_nothing(lab: LabPage) -> None:
    lab.prefill("Once upon a time")
    lab.next(2)
    lab.wait_drawn()
    lab.page.evaluate(_WATCH, list(CHARTS))
    for number in range(3, 8):
        lab.next(number)
    lab.press("Play")
    lab.expect_step_from(10)
    lab.press("Pause")
    lab.wait_idle()
    slider = lab.page.get_by_role("slider", name="Step")
    for _ in range(5):
        slider.press("ArrowLeft")
        lab.wait_idle()
    lab.press("Step back")
    lab.page.wait_for_timeout(800)
    assert lab.page.evaluate("window.removed") == []
    assert lab.page.evaluate(_KEPT)
    assert lab.page.evaluate("window.moved") == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_scrolls_sideways_or_has_a_serious_accessibility_problem(
    desks: Desks, width: int, scheme: str
) -> None:
    with desks.learner(width=width, scheme=scheme) as lab:
        check(lab)
        lab.prefill("Once upon a time")
        lab.next(2)
        lab.wait_drawn()
        check(lab)
        lab.page.get_by_role("button", name="Latency per pass as a table").click()
        lab.wait_idle()
        check(lab)
        lab.go("/")
        lab.page.wait_for_selector(".st-key-start-latency .tp-chart[data-drawn]")
        check(lab)


def test_the_page_holds_still_while_it_loads(server: str, browser: Browser) -> None:
    lab = LabPage.open(browser, server)  # which has no font and no script yet
    lab.page.wait_for_timeout(1500)
    assert lab.page.evaluate(_LOAD_SHIFT) < 0.01
    lab.close()
