"""What a browser's socket could send for the widgets that are on a page, sent to a page under test."""

import json
from typing import Any

from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest

_EVENTS = "$$STREAMLIT_INTERNAL_KEY_{}__events"  # where a component's events arrive, besides its state
_TEXTS = st.text(max_size=20) | st.sampled_from(["", "²", "NaN", "\u202e", "\x00", "9" * 400, "<b>x</b>", "null"])
_WHOLE = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 1, 2**31, 2**53, 10**6])
_NUMBERS = st.floats() | st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 0.5])
_LEAVES = st.none() | st.booleans() | _WHOLE | st.integers() | _NUMBERS | _TEXTS
_ANYTHING = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=6
)
_REPORTS = _ANYTHING | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("value", "expected", "run", "isCalm", "sent"), _ANYTHING)
)
EVENTS = st.fixed_dictionaries({"event": st.sampled_from(["picked", "ticked", "table"]), "value": _REPORTS})
STATES = st.dictionaries(st.sampled_from(["picked", "ticked", "table"]), _REPORTS, max_size=3)


def value_of(state: WidgetState) -> st.SearchStrategy[WidgetState]:
    """Anything that the field of this widget's value can carry."""
    kind = state.WhichOneof("value")
    made: st.SearchStrategy[Any]
    match kind:
        case "bool_value" | "trigger_value":
            made = st.booleans()
        case "double_value":
            made = _NUMBERS
        case "int_value":
            made = _WHOLE
        case "string_value":
            made = _TEXTS
        case "double_array_value":
            made = st.lists(_NUMBERS, max_size=3)
        case "int_array_value":
            made = st.lists(_WHOLE, max_size=3)
        case "string_array_value":
            made = st.lists(_TEXTS, max_size=3)
        case _:
            made = st.nothing()
    return made.map(lambda value: _state(state.id, kind or "", value))


def event(component_id: str) -> st.SearchStrategy[WidgetState]:
    """Anything a component's script could report, as an event or as its state."""
    events = st.lists(EVENTS | _ANYTHING, max_size=3)
    return events.map(
        lambda payload: WidgetState(id=_EVENTS.format(component_id), json_trigger_value=json.dumps(payload))
    ) | STATES.map(lambda payload: WidgetState(id=component_id, json_value=json.dumps(payload)))


def reported(component_id: str, name: str, value: object) -> WidgetState:
    """One event of a component."""
    payload = json.dumps([{"event": name, "value": value}])
    return WidgetState(id=_EVENTS.format(component_id), json_trigger_value=payload)


def send(app: AppTest, *sent: WidgetState) -> AppTest:
    """One message: every widget's value as it is, but for these."""
    states = app._tree.get_widget_states()
    ids = {one.id for one in sent}
    kept = [one for one in states.widgets if one.id not in ids]
    return app._run(WidgetStates(widgets=[*kept, *sent]))


def states_of(app: AppTest) -> list[WidgetState]:
    return list(app._tree.get_widget_states().widgets)


def components(app: AppTest) -> list[str]:
    return [one.proto.id for one in app.get("bidi_component")]


def _state(widget_id: str, kind: str, value: Any) -> WidgetState:
    if kind.endswith("_array_value"):
        state = WidgetState(id=widget_id)
        getattr(state, kind).data.extend(value)
        return state
    return WidgetState(id=widget_id, **{kind: value})
