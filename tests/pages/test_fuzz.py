"""Whatever a socket sends to the widgets and components of any page: no page fails, nobody else's state changes."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from inference.run.recipe import Recipe
from tests.pages import sockets
from tests.pages.conftest import SHELL, open_step_through
from tests.pages.labs import laboratory, run_of

PAGES = (
    *("learn/start", "learn/lessons", "learn/glossary", "lab/step_through", "lab/kv_cache", "lab/roofline"),
    *("lab/latency", "lab/sampling", "lab/batching", "lab/speculative", "lab/prefix_caching", "lab/disaggregation"),
    *("plan/planner", "check/quiz", "check/review", "check/mastery", "check/my_data", "check/classroom"),
)
BYSTANDER = "ef" * 16
MESSAGES_A_PAGE = 10
MOST_AT_ONCE = 4
LONGEST_S = 60


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@settings(
    max_examples=1,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_no_message_breaks_a_page_or_touches_another(app: AppTest, page: str, data: st.DataObject) -> None:
    runs = laboratory().runs
    assert runs is not None
    before = runs.start(BYSTANDER, Recipe("a bystander")).result(LONGEST_S).trace
    app.default_timeout = LONGEST_S
    app.run()
    app.switch_page(f"../{page}.py")
    app.run()
    for _ in range(MESSAGES_A_PAGE):
        choices = [sockets.value_of(state) for state in sockets.states_of(app)]
        choices += [sockets.event(one) for one in sockets.components(app)]
        if not choices:
            return
        one = st.integers(0, len(choices) - 1).flatmap(choices.__getitem__)
        message = data.draw(st.lists(one, min_size=1, max_size=MOST_AT_ONCE, unique_by=lambda sent: sent.id))
        sockets.send(app, *message)
        assert not app.exception, (message, app.exception)
    kept = runs.get(BYSTANDER)
    assert kept is not None
    assert kept.trace.steps == before.steps


@pytest.mark.slow
def test_values_of_another_type_stay_with_their_sender(app: AppTest) -> None:
    """Streamlit itself fails to read them, so the forger's page fails; nobody else's does."""
    step_through = open_step_through(app)
    for state in sockets.states_of(step_through):
        for forged in ({"double_value": float("nan")}, {"string_value": "x"}, {"json_value": '{"a": [1]}'}):
            sockets.send(step_through, WidgetState(id=state.id, **forged))
    assert not open_step_through(AppTest.from_file(SHELL, default_timeout=LONGEST_S)).exception


def test_a_forged_step_is_the_nearest_there_is_or_none(app: AppTest) -> None:
    run_of(app, "hello", 4)
    page = open_step_through(app)
    (slider,) = [one for one in sockets.components(page) if one.endswith("-step")]
    nothing: list[object] = [10**400, True, 1.0, "1", None, [1], {}]
    for value, shown in [*((value, None) for value in nothing), (1, 1), (-5, 0)]:
        sockets.send(page, sockets.reported(slider, "picked", {"value": value}))
        assert not page.exception, repr(value)[:20]
        assert page.session_state["tab"].run.shown == shown, repr(value)[:20]
