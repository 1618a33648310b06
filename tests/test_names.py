"""One word per idea: a class's name says which it is."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_no_two_classes_of_the_product_have_the_same_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for folder in ("inference", "pages", "lessons", "quizzes"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 100, "no classes were found: the rule would hold for nothing"
    twice = {name: lines for name, lines in places.items() if len(lines) > 1}
    assert not twice, twice
