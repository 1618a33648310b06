"""Imports go one way: the folders explain the program only as long as this holds."""

import sys

import pytest

from tests.imports import ROOT, files, imports, reaches

FORBIDDEN = {
    "inference": {"streamlit", "plotly", "pages", "lessons", "quizzes", "starlette"},
    "pages/charts": {"streamlit", "torch", "transformers", "pages.ui", "pages.lab", "pages.learn"},
    "lessons": {"streamlit", "plotly", "torch", "transformers", "pages"},
    "quizzes": {"streamlit", "plotly", "torch", "transformers", "pages", "lessons"},
    "pages/ui": {"torch", "transformers", "pages.lab", "pages.learn", "pages.plan", "pages.check"},
    "pages/learn": {"torch", "transformers", "plotly", "pages.lab"},
    "pages/check": {"torch", "transformers", "plotly", "pages.lab", "pages.learn"},
    "pages/lab": {"torch", "transformers", "plotly", "pages.learn"},
}
OWNER = "pages/ui/state.py"


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_layer_imports_nothing_above_it(folder: str) -> None:
    assert files(folder), f"{folder} is empty: the rule would hold for nothing"
    broken = {
        str(path.relative_to(ROOT)): found
        for path in files(folder)
        if (found := reaches(imports(path), FORBIDDEN[folder] | {"benchmarks", "tests"}))
    }
    assert not broken


def test_figures_of_plotly_are_made_in_charts_only() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for path in files("pages")
        if "plotly" in {name.split(".")[0] for name in imports(path)}
    }
    allowed = {"pages/ui/parts/live_chart.py", "pages/ui/server.py"}  # draws any figure; serves plotly.min.js
    assert {user for user in users if not user.startswith("pages/charts/")} <= allowed


def test_only_one_module_touches_the_session_state() -> None:
    users = [path.relative_to(ROOT).as_posix() for path in files("pages") if "st.session_state" in path.read_text()]
    assert users == [OWNER]


def test_whatever_is_wrong_is_caught_in_one_place_and_axes_by_factors_are_made_in_one() -> None:
    for folder, words, owner in (
        ("pages", "except Exception", "pages/ui/parts/boundary.py"),
        ("pages/charts", "log10", "pages/charts/factors.py"),
    ):
        assert [path.relative_to(ROOT).as_posix() for path in files(folder) if words in path.read_text()] == [owner]


def test_only_weights_reach_the_network() -> None:
    reaching = {"requests", "httpx", "httpx2", "urllib.request", "socket", "http.client"}
    reaching |= {"huggingface_hub.snapshot_download"}
    users = {path.relative_to(ROOT).as_posix() for path in files("inference") if reaches(imports(path), reaching)}
    assert users <= {"inference/weights/__init__.py", "inference/weights/wheel.py"}


def test_the_top_level_is_what_the_architecture_names() -> None:
    known = {"app.py", "requirements.txt", "requirements-dev.txt", "pyproject.toml", "Makefile"}
    known |= {"pages", "inference", "lessons", "quizzes", "tests", "benchmarks"}
    known |= {"README.md", "LICENSE", "CHANGELOG.md"}
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "__"))}
    assert found <= known, found - known


def test_no_file_hides_a_module_of_the_standard_library() -> None:
    """Streamlit puts the script's folder on the path: a `token.py` there would replace Python's own."""
    names = {path.stem for path in (ROOT / "pages/ui").glob("*.py")}
    assert not names & set(sys.stdlib_module_names)
