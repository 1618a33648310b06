"""What holds on every screen: no serious accessibility problem, no sideways scroll, a name for every chart."""

from axe_playwright_python.sync_playwright import Axe

from tests.browser.driving.lab_page import LabPage


def check(lab: LabPage) -> None:
    lab.wait_still()  # Streamlit dims what it is about to replace
    streamlits_own = {"exclude": [["[data-testid=stSidebarNav]"]]}  # its lists of pages hold headings
    found = Axe().run(lab.page, context=streamlits_own).response["violations"]
    serious = {
        rule["id"]: [node["html"][:200] for node in rule["nodes"]]
        for rule in found
        if rule["impact"] in ("serious", "critical")
    }
    assert not serious, serious
    overflow = lab.page.evaluate(
        "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth }"
    )
    assert overflow <= 0
    unnamed = lab.page.evaluate("() => [...document.querySelectorAll('.tp-plot')].filter(p => !p.ariaLabel).length")
    assert unnamed == 0
