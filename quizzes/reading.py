"""Reads quiz files: every problem is found at once, and named by file, line, question and key."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from inference.files.safe_yaml import SafeLoader
from quizzes.kinds.filled import problem_in, problem_with
from quizzes.kinds.numeric import NumberQuestion
from quizzes.kinds.questions import Question

_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)
_FACT_KEYS = ("fact",)
Key = tuple[int | str, ...]


class ContentError(ValueError):
    """A quiz file says something that cannot be asked."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one question, or with a whole file."""

    path: Path
    line: int
    """Counted from 1; 0 for the file as a whole."""
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words}" if self.line else f"{self.path}: {self.words}"


def read_quizzes(folder: Path) -> tuple[dict[str, list[Question]], list[Problem]]:
    """The questions of folder/*.yaml by file name, in the order of each file; and what could not be read.

    A question with a problem is left out, and takes nothing with it.
    """
    quizzes: dict[str, list[Question]] = {}
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.yaml")):
        questions = quizzes.setdefault(path.stem, [])
        for entry in _read(path):
            if isinstance(entry, Problem):
                problems.append(entry)
                continue
            line, question = entry
            if question.id in files:
                words = f"question {question.id!r} is already in {files[question.id]}; rename one"
                problems.append(Problem(path, line, words))
                continue
            files[question.id] = path
            questions.append(question)
    return quizzes, problems


def read_rows(path: Path, rows_of: str) -> Iterator[tuple[object, yaml.Node] | Problem]:
    """Each entry of a YAML list, with the node that knows its line; or what is wrong with the file."""
    try:
        loader = SafeLoader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        rows = loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield Problem(path, mark.line + 1 if mark else 0, f"not YAML: {error}")
        return
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:  # ValueError: 2026-13-40 as a date
        yield Problem(path, 0, f"cannot be read: {error}")
        return
    if not isinstance(rows, list) or not isinstance(root, yaml.SequenceNode):
        yield Problem(path, 0, f"must be a list of {rows_of}, got {type(rows).__name__}")
        return
    yield from zip(rows, root.value, strict=True)


def _read(path: Path) -> Iterator[tuple[int, Question] | Problem]:
    for number, entry in enumerate(read_rows(path, "questions"), start=1):
        if isinstance(entry, Problem):
            yield entry
            continue
        row, node = entry
        name = row.get("id", f"number {number}") if isinstance(row, dict) else f"number {number}"
        question, wrong = _question(row, node)
        for key, words in wrong:
            where = f", key {'.'.join(map(str, key))}" if key else ""
            yield Problem(path, _line(node, key), f"question {name!r}{where}: {words}")
        if question is not None and not wrong:
            yield node.start_mark.line + 1, question


def _question(row: object, node: yaml.Node) -> tuple[Question | None, list[tuple[Key, str]]]:
    """The question of a row, and every (key, problem) in it."""
    wrong = list(_repeated(node, ()))
    try:
        question = _QUESTION.validate_python(row)
    except ValidationError as error:
        wrong += [(problem["loc"][1:], problem["msg"]) for problem in error.errors()]  # loc[0] is the kind
        return None, wrong
    dead = list(_dead_facts(row, ()))
    if isinstance(question, NumberQuestion) and not dead and (problem := question.unit_problem()):
        wrong.append((("unit",), problem))
    return question, wrong + dead


def _dead_facts(value: Any, key: Key) -> Iterator[tuple[Key, str]]:
    """Numbers that nothing computes."""
    for name, inner in _inside(value):
        yield from _dead_facts(inner, (*key, name))
    if isinstance(value, str):
        problem = problem_with(value) if key[-1:] == _FACT_KEYS else problem_in(value)
        if problem:
            yield key, problem


def _inside(value: object) -> list[tuple[int | str, object]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _repeated(node: yaml.Node, key: Key) -> Iterator[tuple[Key, str]]:
    """Keys that stand twice in one mapping: YAML would silently keep the last."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for name, inner in node.value:
            if name.value in seen:
                yield (*key, name.value), "is there twice; keep one"
            seen.add(str(name.value))
            yield from _repeated(inner, (*key, name.value))
    elif isinstance(node, yaml.SequenceNode):
        for place, inner in enumerate(node.value):
            yield from _repeated(inner, (*key, place))


def _line(node: yaml.Node, key: Key) -> int:
    """Where a key stands, or the nearest thing around it that is in the file."""
    line = int(node.start_mark.line) + 1
    for part in key:
        if isinstance(node, yaml.MappingNode):
            pairs = [(name, inner) for name, inner in node.value if name.value == part]
            if not pairs:
                return line
            name, node = pairs[0]
            line = int(name.start_mark.line) + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = int(node.start_mark.line) + 1
    return line
