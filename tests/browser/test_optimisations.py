"""The optimisation labs in a real browser: each runs its default, and the screen agrees with the exported trace."""

import json
import re
import statistics
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from inference.arithmetic.units import seconds, significant
from tests.browser.driving.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.real_model, pytest.mark.timeout(600)]
_PATIENCE_S = 400


def run(lab: LabPage, path: str, label: str) -> Any:
    """Press the button that runs the lab's default and give back what it exports in the end."""
    lab.go(path)
    lab.see_known()
    lab.page.get_by_role("button", name=re.compile(f"^{label}( again)?$")).first.click()
    expect(lab.button("Cancel")).to_be_visible()
    lab.expect_text(re.compile(r"^Measured \d{4}-\d\d-\d\d on this machine"), timeout_s=_PATIENCE_S)
    lab.wait_idle()
    with lab.page.expect_download() as download:
        lab.press("Export")
    return json.loads(download.value.path().read_text())


def test_continuous_batching_needs_fewer_passes_for_the_same_tokens(visitor: LabPage) -> None:
    static, continuous = run(visitor, "/batching", "Serve both ways")["arms"]
    passes = len(static["passes"]), len(continuous["passes"])
    assert passes[1] < passes[0]
    visitor.expect_text(f"{passes[1]:,} passes did what {passes[0]:,} did")

    def outputs(arm: dict[str, Any]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for share in (share for one in arm["passes"] for share in one["shares"] if share["token_id"] is not None):
            found.setdefault(share["request"], []).append(share["token_id"])
        return found

    assert outputs(static) == outputs(continuous)


def test_speculation_copies_the_text_in_fewer_passes_and_says_the_same(visitor: LabPage) -> None:
    found = run(visitor, "/speculative-decoding", "Run both ways")
    rounds = found["repeats"][0]["rounds"]
    num_tokens = sum(one["num_accepted"] + (one["token_id"] is not None) for one in rounds)
    visitor.expect_text(significant(num_tokens / len(rounds)))
    visitor.expect_text(re.compile(rf"^Same text as plain greedy decoding, token by token: {num_tokens + 1} of"))


def test_a_kept_prefix_shortens_the_first_token(visitor: LabPage) -> None:
    found = run(visitor, "/prefix-caching", "Run")

    def ttft_s(name: str) -> float:
        times = [one["lookup_s"] + one["assemble_s"] + one["forward_s"] for one in found[name]]
        return float(statistics.median(times))

    assert ttft_s("warm") < ttft_s("cold")
    visitor.expect_text(re.compile(rf"{re.escape(significant(ttft_s('cold') / ttft_s('warm')))} times"))


def test_two_processes_give_every_reader_the_same_tokens_both_ways(visitor: LabPage) -> None:
    together, apart = run(visitor, "/disaggregation", "Serve both ways")["served"]

    def tokens(served: dict[str, Any]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for one in served["passes"]:
            for place, token_id in zip(one["asks"], one["tokens"], strict=True):
                found.setdefault(place, []).append(token_id)
        return found

    def gaps(served: dict[str, Any]) -> list[float]:
        ends: dict[int, list[float]] = {}
        for one in served["passes"]:
            for place in one["asks"]:
                ends.setdefault(place, []).append(one["end_s"])
        return [float(gap) for times in ends.values() for gap in np.diff(times)]

    assert tokens(together) == tokens(apart)
    longest = seconds(max(gaps(together))), seconds(max(gaps(apart)))
    visitor.expect_text(f"was {longest[0]} colocated and {longest[1]} disaggregated")
    visitor.expect_text(seconds(float(np.percentile(gaps(together), 99))))
