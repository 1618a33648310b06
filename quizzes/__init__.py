"""Questions: loaded from the YAML files beside this one and checked before anyone is asked."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from quizzes.questions import (
    MAX_ANSWER_CHARS,
    Answer,
    Asked,
    Choice,
    ChoiceQuestion,
    Grade,
    Option,
    Point,
    PointCheck,
    Question,
    WrittenQuestion,
)

__all__ = [
    "MAX_ANSWER_CHARS",
    "Answer",
    "Asked",
    "Choice",
    "ChoiceQuestion",
    "ContentError",
    "Grade",
    "Option",
    "Point",
    "PointCheck",
    "Question",
    "WrittenQuestion",
    "load_questions",
]

_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)


class ContentError(ValueError):
    """A quiz file says something that cannot be asked."""


def load_questions(folder: Path = Path(__file__).parent) -> list[Question]:
    """Every question of folder/*.yaml, by file name, then in the order of the file."""
    found: dict[str, Path] = {}
    questions = []
    for path in sorted(folder.glob("*.yaml")):
        for question in _read(path):
            if question.id in found:
                raise ContentError(
                    f"{path}: question {question.id!r} is already in {found[question.id]}; rename one"
                )
            found[question.id] = path
            questions.append(question)
    return questions


def _read(path: Path) -> Iterator[Question]:
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ContentError(f"{path}: not YAML: {error}") from error
    if not isinstance(rows, list):
        raise ContentError(f"{path}: must be a list of questions, got {type(rows).__name__}")
    for number, row in enumerate(rows, start=1):
        name = row.get("id", f"number {number}") if isinstance(row, dict) else f"number {number}"
        try:
            yield _QUESTION.validate_python(row)
        except ValidationError as error:
            problems = (_describe(problem["loc"], problem["msg"]) for problem in error.errors())
            raise ContentError("\n".join(f"{path}: question {name!r}{text}" for text in problems)) from error


def _describe(loc: tuple[int | str, ...], message: str) -> str:
    key = ".".join(str(part) for part in loc[1:])  # loc[0] is the kind
    return f", key {key}: {message}" if key else f": {message}"
