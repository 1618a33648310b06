"""One name, one idea: classes of the product are told apart by their names alone, and functions fit on a screen."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.imports import PRODUCT, ROOT, files


def product() -> list[Path]:
    return [ROOT / "app.py", *(path for folder in PRODUCT for path in files(folder))]


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path in product():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 100, "the walk missed the product"
    assert not {name: shared for name, shared in places.items() if len(shared) > 1}


def test_files_stay_under_260_lines_and_functions_under_60() -> None:
    long = []
    for path in product():
        text = path.read_text()
        if len(text.splitlines()) > 260:
            long.append(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
                long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not long
