"""Takes screenshots of a running app: `python -m tests.browser.screens http://127.0.0.1:8501 [FOLDER]`."""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.browser.driving.lab_page import LabPage

_FOLDER = Path(__file__).parent / "screens"
_STEPS = 20


def main(address: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=arguments)
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                lab = LabPage.open(browser, address, width=width, scheme=scheme)
                lab.prefill()
                for number in range(2, _STEPS + 1):
                    lab.next(number)
                lab.wait_drawn()
                lab.page.mouse.move(0, 0)
                lab.page.set_viewport_size({"width": width, "height": 1240 if width > 640 else 2350})
                lab.page.wait_for_timeout(1200)
                suffix = "" if width > 640 else f"_{width}"
                lab.page.screenshot(path=folder / f"step_through_{scheme}{suffix}.png")
                lab.go("/")
                lab.page.get_by_role("button", name="Replay").wait_for()
                lab.page.wait_for_timeout(6000)
                lab.page.set_viewport_size({"width": width, "height": 800})
                lab.page.screenshot(path=folder / f"start_{scheme}{suffix}.png")
                lab.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else _FOLDER)
