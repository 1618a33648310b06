"""What is taught: lessons, the glossary, and the recorded runs that can be watched without a model."""

from pathlib import Path

from inference.trace import Trace
from lessons.reading.content import Ask, Lesson, Part, Place, Section, Takeaway, Term, Text
from lessons.reading.glossary import read_glossary
from lessons.reading.parse import read_lesson
from lessons.reading.written import plain, problems_in, written
from quizzes import ContentError, Problem

__all__ = [
    "Ask",
    "Lesson",
    "Part",
    "Place",
    "Section",
    "Takeaway",
    "Term",
    "Text",
    "load_glossary",
    "load_lessons",
    "load_trace",
    "open_lessons",
    "plain",
    "written",
]

FOLDER = Path(__file__).parent
_TRACES = FOLDER / "traces"


def load_trace(name: str) -> Trace:
    """A recorded run of `lessons/traces`, by its file name without the ending."""
    return Trace.from_json((_TRACES / f"{name}.json").read_bytes())


def load_lessons(folder: Path = FOLDER) -> list[Lesson]:
    """Every lesson of folder/*.md in their order. ContentError names every problem there is."""
    lessons, problems = open_lessons(folder)
    if problems:
        raise ContentError("\n".join(map(str, problems)))
    return lessons


def open_lessons(folder: Path = FOLDER) -> tuple[list[Lesson], list[Problem]]:
    """The lessons that can be shown, in their order, and what is wrong with the others."""
    glossary, problems = read_glossary(folder / "glossary.yaml")
    lessons = []
    for path in sorted(folder.glob("*.md")):
        lesson, wrong = read_lesson(path)
        if lesson is not None:
            wrong += [
                Problem(path, part.line + line, words)
                for part in lesson.parts
                if isinstance(part, Text | Takeaway)
                for line, words in problems_in(part.markdown, glossary)
            ]
            if not wrong:
                lessons.append(lesson)
        problems += wrong
    return lessons, problems


def load_glossary(folder: Path = FOLDER) -> dict[str, Term]:
    """Terms by id, those that can be shown."""
    return read_glossary(folder / "glossary.yaml")[0]
