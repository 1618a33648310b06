"""The lines between the two `---` at the top of a lesson, typed and checked key by key."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from inference.files.safe_yaml import SafeLoader
from quizzes import Problem

_FENCE = "---"
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]


class FrontMatter(BaseModel):
    """An unknown key is an error, and so is a missing one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Line
    summary: Line
    minutes: Annotated[int, Field(strict=True, ge=5, le=15)]
    can: Annotated[tuple[Line, ...], Field(min_length=1)]
    quiz: Id
    terms: tuple[Id, ...]
    sources: Annotated[tuple[Line, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Split:
    """A file in its two parts."""

    front: FrontMatter
    lines: dict[str, int]
    """Where each key stands."""
    body: list[str]
    first_line: int
    """Of the body, in the file."""


def split(path: Path, text: str) -> tuple[Split | None, list[Problem]]:
    """Front matter and body; or what keeps the front matter from being read."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return None, [Problem(path, 1, "a lesson starts with ---, its front matter and --- again")]
    end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
    if end is None:
        return None, [Problem(path, 1, "the front matter is not closed; end it with a line of ---")]
    root, front, problems = _keys(path, "\n".join(lines[1:end]))
    if root is None:
        return None, problems
    try:
        read = FrontMatter.model_validate(front)
    except ValidationError as error:
        return None, [
            *problems,
            *(_problem(path, root, mistake["loc"], mistake["msg"]) for mistake in error.errors()),
        ]
    key_lines = {str(name.value): name.start_mark.line + 2 for name, _ in root.value}
    return (None if problems else Split(read, key_lines, lines[end + 1 :], end + 2)), problems


def _keys(path: Path, text: str) -> tuple[yaml.MappingNode | None, object, list[Problem]]:
    """The mapping with its places in the text, its values, and what is wrong with either."""
    try:
        loader = SafeLoader(text)
        root = loader.get_single_node()
        values = loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        return None, None, [Problem(path, mark.line + 2 if mark else 1, f"front matter: not YAML: {what}")]
    except ValueError as error:  # 2026-13-40 as a date
        return None, None, [Problem(path, 1, f"front matter: {error}")]
    if not isinstance(root, yaml.MappingNode):
        return None, None, [Problem(path, 1, "the front matter must be keys with values, such as title: Prefill")]
    return root, values, list(_repeated(path, root))


def _repeated(path: Path, root: yaml.MappingNode) -> Iterator[Problem]:
    names = [name.value for name, _ in root.value]
    for name, _ in root.value:
        if names.count(name.value) > 1:
            yield Problem(path, name.start_mark.line + 2, f"key {name.value!r} is there twice; keep one")


def _problem(path: Path, root: yaml.MappingNode, loc: tuple[int | str, ...], words: str) -> Problem:
    """With the line of the key, or of the item of its list."""
    line = 1
    for name, value in root.value:
        if loc and name.value == loc[0]:
            line = name.start_mark.line + 2
            if len(loc) > 1 and isinstance(loc[1], int) and isinstance(value, yaml.SequenceNode):
                line = value.value[loc[1]].start_mark.line + 2
    return Problem(path, line, f"front matter, key {'.'.join(map(str, loc))!r}: {words}")
