"""What the project's files import, read from their syntax trees."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("inference", "lessons", "quizzes", "pages")


def files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if ".venv" not in path.parts)


@cache
def imports(path: Path, *, only_top: bool = False) -> frozenset[str]:
    """Dotted names; `from a import b` gives both a and a.b. What only the type checker reads counts too."""
    tree = ast.parse(path.read_text())
    return frozenset(name for node in (tree.body if only_top else ast.walk(tree)) for name in _names(node))


def reaches(names: frozenset[str], forbidden: set[str]) -> set[str]:
    return {name for name in names for root in forbidden if name == root or name.startswith(root + ".")}


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    return {_dotted(path): path for folder in PRODUCT for path in files(folder)}


@cache
def graph() -> dict[str, set[str]]:
    """Which modules each module imports when it runs, inside functions too; not those for annotations alone."""
    edges: dict[str, set[str]] = {}
    for name, path in modules().items():
        named = {found for node in _running(ast.parse(path.read_text())) for found in _targets(node)}
        edges[name] = named - {name}
    return edges


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full in modules() or node.module in modules():
                yield full if full in modules() else node.module


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
