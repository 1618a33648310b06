"""Callbacks change state, page bodies only draw: nothing else starts work or writes a tab's state."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ACTS = {
    *("start", "submit", "advance", "branch", "put_aside", "bring_back", "retry", "start_measuring"),
    *("cancel", "cancel_measuring", "doubt_ceilings", "measure_ceilings", "forget", "begin_anew"),
    *("set_widget", "set_form", "set_prompt", "open_recipe", "keep_guess", "delete_class"),
}
NOT_BODIES = {
    "pages/ui/actions.py": "the callbacks",
    "pages/ui/state.py": "what they change",
    "pages/ui/server.py": "starts the server",
    "pages/ui/shell.py": "the steps at both ends of every run",
    "pages/ui/learner/forgetting.py": "a step at the top of every run",
}
STEPS = {
    "pages/ui/pending.py": {"submit", "_settle", "_start_link", "_meet_the_roofs", "take_in"},
    "pages/learn/start.py": {"<page>"},  # doubts the roofs before it draws
    "pages/ui/experiments/roofline/roofline.py": {"_meet_the_roofs"},
    "pages/ui/parts/measurement.py": {"at_once"},  # the one measurement that needs no button: a single pass
    "pages/ui/parts/lab.py": {"choose_view"},  # the view of a link, as its page is opened
    "pages/ui/parts/prediction.py": {"veiled"},  # says which prediction is on the screen
    "pages/ui/planner/form.py": {"open_link"},  # as the page is opened
    "pages/ui/classes/live.py": {"draw"},  # ends its own timer
    "pages/ui/classes/join.py": {"_run"},  # a button that leads to another page has no callback
    "pages/ui/learner/key.py": {"key"},  # read from the cookie at the first look
    "pages/ui/learner/saved.py": {"keep_lab_guess"},  # of the callback `guess`
    "pages/ui/planner/choices.py": {"_take_machine", "_take_widths"},  # of callbacks made for a catalogue's row
}


@cache
def _trees() -> dict[str, ast.Module]:
    files = [path for path in (ROOT / "pages").rglob("*.py") if "charts" not in path.parts]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in files}


@cache
def _callbacks() -> set[str]:
    """Names of functions that are handed over as `on_...`."""
    return {
        name
        for tree in _trees().values()
        for word in ast.walk(tree)
        if isinstance(word, ast.keyword) and (word.arg or "").startswith("on_")
        for name in _handed_over(word.value)
    }


def _handed_over(value: ast.expr) -> list[str]:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.IfExp():
            return _handed_over(value.body) + _handed_over(value.orelse)
        case ast.Lambda(body=ast.Call() as call):
            return [_name(call)]
        case _:
            return []


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _acts_of(node: ast.AST, functions: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every act with the functions it stands in, but for what is handed over as a callback."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and (child.arg or "").startswith("on_"):
            continue
        if isinstance(child, ast.Call) and _name(child) in ACTS:
            yield _name(child), functions
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store) and _is_of_a_tab(child):
            yield ast.unparse(child), functions
        inside = (*functions, child.name) if isinstance(child, ast.FunctionDef) else functions
        yield from _acts_of(child, inside)


def _is_of_a_tab(target: ast.Attribute) -> bool:
    """Whether this writes to `state.tab()`, under the names that the pages give it and its parts."""
    root: ast.expr = target
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Call):
        return ast.unparse(root) == "state.tab()"
    return isinstance(root, ast.Name) and root.id in {"here", "tab", "drawing", "answering", "classroom", "plan"}


def _unnamed(path: str, tree: ast.Module) -> list[str]:
    known = _callbacks() | STEPS.get(path, set())
    return [
        f"{path}, {(functions or ('<page>',))[-1]}: {act}"
        for act, functions in _acts_of(tree)
        if not known & set(functions or ("<page>",))
    ]


def test_only_callbacks_and_named_steps_start_work_or_change_a_tab() -> None:
    acting = [act for path, tree in _trees().items() if path not in NOT_BODIES for act in _unnamed(path, tree)]
    assert not acting, "a page's body acts; do it in a callback:\n" + "\n".join(acting)


def test_every_step_that_is_named_acts() -> None:
    assert set(NOT_BODIES) <= set(_trees())
    for path, names in STEPS.items():
        acting = {name for _, functions in _acts_of(_trees()[path]) for name in functions or ("<page>",)}
        assert names - {"take_in"} <= acting | {"take_in"}, f"{path}: {names - acting} acts no more"


def test_a_body_that_acts_is_found() -> None:
    body = ast.parse(
        "def draw(job):\n    here = state.tab().run\n    here.shown = 3\n    actions.start_measuring(job)"
    )
    assert _unnamed("pages/lab/new.py", body) == [
        "pages/lab/new.py, draw: here.shown",
        "pages/lab/new.py, draw: start_measuring",
    ]
    callback = ast.parse(
        "st.button('Measure', on_click=actions.start_measuring)\nst.button('x', on_click=lambda: start(1))"
    )
    assert _unnamed("pages/lab/new.py", callback) == []
