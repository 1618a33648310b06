"""One run pass by pass, as a lesson places it: the recorded one, then the learner's own."""

import base64

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from lessons import load_trace
from tests.pages.labs import component, figure, laboratory, run_of, texts


def _time() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.latency.passes import passes  # noqa: PLC0415

    state.restore()
    passes(key="alone", is_fixed=True)


def _cache() -> None:
    from pages.ui import state  # noqa: PLC0415
    from pages.ui.experiments.latency.passes import CACHE, PassesSettings, passes  # noqa: PLC0415

    state.restore()
    passes(PassesSettings(CACHE), key="alone", is_fixed=True)


def test_without_a_run_the_recorded_one_is_drawn_and_said_to_be_recorded(app: AppTest) -> None:
    assert laboratory().engine is not None
    page = AppTest.from_function(_time, default_timeout=20).run()
    trace = load_trace("lighthouse")
    assert not page.exception
    assert f"A run recorded {trace.metadata.date[:10]}" in texts(page)
    bars = [
        time_ms
        for one in figure(page, "alone-bars")["data"][:2]
        for time_ms in np.frombuffer(base64.b64decode(one["y"]["bdata"]), one["y"]["dtype"])
    ]
    assert bars == pytest.approx([step.forward_s * 1e3 for step in trace.steps])
    assert not page.get("segmented_control")


def test_the_cache_of_the_learners_own_run_leaves_out_its_newest_token(app: AppTest) -> None:
    assert laboratory().engine is not None
    page = AppTest.from_function(_cache, default_timeout=20)
    run_of(page, "Hello there", 3)
    page.run()
    runs = laboratory().runs
    own = runs.get("ab" * 16) if runs else None
    assert own is not None
    num_prompt = len(own.trace.prompt_tokens)
    assert f"Your own run: 3 tokens out of 1 prefill and 2 decode steps. The cache holds {num_prompt + 2}" in texts(
        page
    )
    assert component(page, "alone-bars")["caption"] == "measured from the tensors; dashed: the formula"
