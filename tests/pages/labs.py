"""What a test of a lab's page needs: what is on the screen, and measurements brought to their end."""

import json
import time
from typing import Any, TypeVar

from streamlit.testing.v1 import AppTest

from inference.jobs.experiments import Job
from inference.run.recipe import Recipe
from inference.server.laboratory import Laboratory
from pages.ui import state
from pages.ui.experiments.batching import batching
from pages.ui.experiments.disaggregation import two_processes
from pages.ui.experiments.kv_cache import recompute
from pages.ui.experiments.latency import ttft_itl
from pages.ui.experiments.prefix_caching import pair as prefix_pair
from pages.ui.experiments.roofline import cores as more_cores
from pages.ui.experiments.roofline import text as roofline_text
from pages.ui.experiments.sampling import chain
from pages.ui.experiments.speculation import speculation

T = TypeVar("T")
PATIENCE_S = 60
PREDICTIONS = {
    one.PREDICTION.id
    for one in (
        more_cores,
        batching,
        chain,
        prefix_pair,
        recompute,
        roofline_text,
        speculation,
        ttft_itl,
        two_processes,
    )
}


def laboratory() -> Laboratory:
    """The one of these tests, which is in this process."""
    found: object = state.laboratory()
    assert isinstance(found, Laboratory)
    return found


def finish(job: Job[T]) -> T:
    """Measure here, or wait for the one under way; gives the result."""
    experiments = laboratory().experiments
    assert experiments is not None
    one = experiments.get(job, "") or experiments.start(job, "")
    deadline = time.monotonic() + PATIENCE_S
    while one.is_running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (one.state, one.problem) == ("done", "")
    assert one.result is not None
    return one.result


def run_of(app: AppTest, prompt: str, num_steps: int) -> None:
    """Give this page's learner a run of their own, `num_steps` passes long."""
    app.session_state["learner"] = "ab" * 16
    runs = laboratory().runs
    assert runs is not None
    runs.start("ab" * 16, Recipe(prompt=prompt)).result(PATIENCE_S)
    for place in range(1, num_steps):
        runs.advance("ab" * 16, place).result(PATIENCE_S)


def texts(app: AppTest) -> str:
    return "\n".join(str(text.value) for text in app.text)


def component(app: AppTest, key: str) -> dict[str, Any]:
    """What the component of this key was last given."""
    (found,) = [one.proto for one in app.get("bidi_component") if one.proto.id.endswith(f"-{key}")]
    data: dict[str, Any] = json.loads(found.json)
    return data


def figure(app: AppTest, key: str) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(component(app, key)["figure"])
    return drawn


def choose(app: AppTest, key: str, value: object) -> AppTest:
    """One option of a segmented control."""
    app.get_by_key(key).set_value(value)  # type: ignore[union-attr]
    return app.run()


def open_lab(app: AppTest, name: str) -> AppTest:
    """A lab's page, of a learner who sees what is known without a guess."""
    app.run()
    app.switch_page(f"../lab/{name}.py")
    app.session_state["tab"].answering.shown_outcomes.update(PREDICTIONS)
    return app.run()
