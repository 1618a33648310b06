"""The glossary: one entry a term, one word per idea."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lessons.reading.content import Term
from lessons.reading.front_matter import Id, Line
from quizzes import Problem, read_rows


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    term: Line
    text: Line
    avoid: tuple[Line, ...] = Field((), alias="not")
    also: tuple[Line, ...] = ()


def read_glossary(path: Path) -> tuple[dict[str, Term], list[Problem]]:
    """Terms by id, in the order of the file; a row with a problem is left out."""
    terms: dict[str, Term] = {}
    problems: list[Problem] = []
    for entry in _read(path):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        line, term = entry
        if term.id in terms:
            problems.append(Problem(path, line, f"term {term.id!r} is there twice; keep one"))
        else:
            terms[term.id] = term
    return terms, problems


def _read(path: Path) -> Iterator[tuple[int, Term] | Problem]:
    for entry in read_rows(path, "terms, each with id, term and text"):
        if isinstance(entry, Problem):
            yield entry
            continue
        row, node = entry
        line = node.start_mark.line + 1
        try:
            read = _Row.model_validate(row)
        except ValidationError as error:
            name = row.get("id") if isinstance(row, dict) else row
            for mistake in error.errors():
                key = ".".join(map(str, mistake["loc"]))
                yield Problem(path, line, f"term {name!r}, key {key!r}: {mistake['msg']}")
        else:
            yield line, Term(read.id, read.term, read.text, read.avoid, read.also)
