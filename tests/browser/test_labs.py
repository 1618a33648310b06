"""The labs in a real browser: every view is in order, and a sweep is real."""

import csv
import io
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.driving.desks import Desks
from tests.browser.driving.lab_page import LabPage
from tests.browser.driving.steady import check

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
LABS = {
    "/kv-cache": ("With and without", "Same answer", "Formula", "Map", "Growth", "Score matrix", "Blocks"),
    "/roofline": ("Measured", "Operators", "Modules", "More cores"),
    "/latency": ("Prompt and context", "Waterfall", "Load", "Readings", "Goodput", "Diagnosis"),
    "/sampling": ("Stages", "Order", "Draws", "Structure"),
    "/batching": ("Static and continuous", "Chunked prefill", "Batch sweep", "Prefill batching"),
    "/speculative-decoding": ("Round by round", "k and acceptance", "Sampled"),
    "/prefix-caching": ("Two prompts", "Conversation", "Shared system prompt", "Tenants"),
    "/disaggregation": ("Two processes", "Link", "At scale"),
}


@pytest.fixture(scope="module", params=[(1280, "light"), (390, "dark")], ids=["1280-light", "390-dark"])
def screen(desks: Desks, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    """One learner for all labs."""
    width, scheme = request.param
    with desks.learner(None, width=width, scheme=scheme) as lab:
        yield lab


@pytest.mark.parametrize("path", LABS)
def test_every_view_fits_and_has_no_serious_accessibility_problem(screen: LabPage, path: str) -> None:
    screen.go(path)
    for view in LABS[path]:
        screen.view(view)
        check(screen)
        if screen.see_known():
            check(screen)
    screen.expect_no_problem()


def test_a_sweep_grows_outlives_its_page_and_exports_what_the_chart_shows(visitor: LabPage) -> None:
    visitor.go("/latency")
    visitor.see_known()
    visitor.view("ITL by context length")
    visitor.press("Measure")
    expect(visitor.button("Cancel")).to_be_enabled()
    expect(visitor.page.get_by_text(re.compile(r"^decode at \d+ tokens?.* · [\d.]+ %")).first).to_be_visible()
    visitor.page.get_by_role("link", name="Roofline").click()
    visitor.wait_idle()
    visitor.page.get_by_role("link", name="Latency").click()
    visitor.expect_text(re.compile(r"^Measured \d{4}-\d\d-\d\d on this machine"), timeout_s=180)
    visitor.page.wait_for_selector(".st-key-ttft-itl-itl .tp-chart[data-drawn]")
    with visitor.page.expect_download() as download:
        visitor.press("Export")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    medians = {int(row["context_len"]): float(row["median_s"]) * 1e3 for row in rows}
    # Plotly draws the last point a moment after the words have changed
    visitor.page.wait_for_function(f"num => ({_MEDIANS})().length === num", arg=len(medians))
    shown = visitor.page.evaluate(_MEDIANS)
    assert shown == pytest.approx(list(medians.values()))
    assert len(medians) >= 4
    visitor.expect_text(re.compile("the median error is"))


def test_cancel_keeps_what_is_done_and_another_learner_steps_meanwhile(
    visitor: LabPage, other_lab: LabPage
) -> None:
    visitor.go("/roofline")
    visitor.see_known()
    visitor.press("Measure")
    other_lab.prefill("The sky is blue because")
    other_lab.next(2)
    visitor.page.wait_for_function("document.querySelector('.st-key-roofline-chart .tp-plot')?.data?.length > 0")
    visitor.press("Cancel")
    visitor.expect_text(re.compile("^Cancelled: what was measured is kept"))
    points = visitor.page.evaluate("document.querySelector('.st-key-roofline-chart .tp-plot')?.data.length ?? 0")
    assert points > 0


def test_a_prediction_is_kept_through_a_reload(visitor: LabPage) -> None:
    visitor.go("/latency")
    visitor.page.get_by_text("1.8 to 2.2 times", exact=True).click()
    visitor.expect_text(re.compile("^You predicted 1.8 to 2.2 times"))
    visitor.reload()
    visitor.expect_text(re.compile("^You predicted 1.8 to 2.2 times"))


_MEDIANS = """() => {
  const plot = document.querySelector(".st-key-ttft-itl-itl .tp-plot")
  return plot.calcdata.find(([point]) => point.trace.name === "decode, measured").map((point) => point.y)
}"""
