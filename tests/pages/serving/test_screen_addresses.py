"""What is on the screen is in the address, and an address brings it back; who looks is in none."""

from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from inference.planner.link import to_query
from inference.planner.settings import PlanSettings
from inference.run.recipe import Recipe
from tests.pages.labs import choose, laboratory, run_of

pytestmark = pytest.mark.slow
LABS = {
    "kv_cache": "kv-lab",
    "roofline": "roofline-lab",
    "latency": "latency-lab",
    "sampling": "sampling-lab",
    "batching": "batching-lab",
    "speculative": "speculative-lab",
    "prefix_caching": "prefix-lab",
    "disaggregation": "disaggregation-lab",
}


def again(app: AppTest, **query: str) -> AppTest:
    """A new tab of the same browser."""
    tab = AppTest.from_file(str(app._script_path), default_timeout=20)
    tab.session_state["learner"] = app.session_state["learner"]
    tab.query_params.update(query)
    tab.run()
    return tab


def to(app: AppTest, page: str) -> AppTest:
    """Another page, with the address as it is: AppTest opens no other page first."""
    app.switch_page(f"../{page}.py").run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, list[str]]:
    return {name: [value] if isinstance(value, str) else value for name, value in app.query_params.items()}


@pytest.mark.parametrize("lab", LABS)
def test_a_labs_view_is_in_the_address_and_opens_from_it(app: AppTest, lab: str) -> None:
    key = f"{LABS[lab]}-view"
    app.run()
    to(app, f"lab/{lab}")
    assert address(app) == {}
    views = [option.content for option in app.get_by_key(key).proto.options]
    choose(app, key, views[1])
    (name,) = address(app)["view"]
    assert name.replace("-", " ") == views[1].casefold()
    opened = to(again(app, view=name), f"lab/{lab}")
    assert opened.session_state[key] == views[1]


@pytest.mark.parametrize("view", ["nothing", "<b>", "x" * 10_000])
def test_a_view_that_is_none_leaves_the_first(app: AppTest, view: str) -> None:
    app.run()
    opened = to(again(app, view=view), "lab/kv_cache")
    assert opened.session_state["kv-lab-view"] == "With and without"
    assert address(opened) == {}


def test_a_plan_and_its_view_are_in_the_address_and_come_back_from_it(app: AppTest) -> None:
    app.run()
    to(app, "plan/planner")
    assert address(app) == {}
    app.number_input(key="planner-concurrency").set_value(7).run()
    choose(app, "planner-view", "Hardware")
    shown = address(app)
    assert shown == parse_qs(to_query(PlanSettings(concurrency=7))) | {"view": ["hardware"]}
    opened = to(again(app, **{name: values[0] for name, values in shown.items()}), "plan/planner")
    assert opened.number_input(key="planner-concurrency").value == 7
    assert opened.session_state["planner-view"] == "Hardware"
    assert address(opened) == shown


def test_a_plan_that_cannot_be_made_is_in_no_address(app: AppTest) -> None:
    app.run()
    to(app, "plan/planner")
    app.number_input(key="planner-concurrency").set_value(0).run()
    assert address(app) == {}


def test_a_run_is_in_the_address_up_to_the_step_looked_at_until_it_is_reset(app: AppTest) -> None:
    app.run()
    run_of(app, "Once upon a time", 4)
    to(app, "lab/step_through")
    asked = Recipe("Once upon a time", num_steps=4, model="random:tiny")
    assert address(app) == parse_qs(asked.to_query())
    app.button(key="back").click().run()
    assert address(app) == parse_qs(asked.until(3).to_query())
    app.button(key="reset").click().run()
    assert address(app) == {}


def test_a_reload_finds_the_run_and_its_step_and_runs_nothing_again(app: AppTest) -> None:
    app.run()
    run_of(app, "Once upon a time", 4)
    runs = laboratory().runs
    before = runs and runs.get(app.session_state["learner"])
    assert before
    for steps in (4, 2):
        asked = before.trace.until(steps - 1)
        query = {name: values[0] for name, values in parse_qs(Recipe.of(asked).to_query()).items()}
        reloaded = to(again(app, **query), "lab/step_through")
        assert f"step {steps} of" in "\n".join(str(one.value) for one in [*reloaded.text, *reloaded.caption])
        assert runs
        assert runs.get(app.session_state["learner"]) is before
        assert address(reloaded) == parse_qs(urlencode(query))


def test_no_page_puts_the_learners_key_into_its_address(app: AppTest) -> None:
    app.run()
    for page in ("learn/lessons", "learn/glossary", "check/quiz", "check/my_data", "check/mastery", "check/review"):
        to(app, page)
        assert address(app) == {}
