"""The text of a lesson as it is shown: numbers computed, terms linked to the glossary."""

import re
from collections.abc import Iterator, Mapping

from lessons.reading.content import Lesson, Term
from quizzes.kinds.filled import filled, problem_in

_TERM = re.compile(r"\[\[(?P<id>[a-z0-9-]+)(?:\|(?P<words>[^\[\]|]+))?\]\]")
_NUMBER = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def written(markdown: str, glossary: Mapping[str, Term]) -> str:
    """Numbers filled in; `[[kv-cache|keys and values]]` a link to the term on the same page.

    Pointed at, it says the definition: nobody has to leave a sentence for it.
    """

    def link(mark: re.Match[str]) -> str:
        term = glossary[mark["id"]]
        words = mark["words"] or term.term
        return f'[{words}](#{term.id} "{_spoken(term)}")'

    return filled(_TERM.sub(link, markdown))


def marks_in(markdown: str) -> Iterator[tuple[int, str]]:
    """(place, id) of every term marked in a text."""
    return ((mark.start(), mark["id"]) for mark in _TERM.finditer(markdown))


def terms_in(lesson: Lesson) -> list[str]:
    """Ids of the terms marked in a lesson, each once, in their order."""
    return list(dict.fromkeys(term for part in lesson.texts for _, term in marks_in(part.markdown)))


def without_marks(markdown: str) -> str:
    """The words alone: what is read aloud, and counted."""
    text = _TERM.sub(lambda mark: mark["words"] or mark["id"].replace("-", " "), markdown)
    return _NUMBER.sub("number", text)


def problems_in(markdown: str, glossary: Mapping[str, Term]) -> Iterator[tuple[int, str]]:
    """(line in the text from 0, problem) of every number and term that does not exist or is not closed."""
    for number in _NUMBER.finditer(markdown):
        if problem := problem_in(number[0]):
            yield _line(markdown, number.start()), problem
    rest = _NUMBER.sub(lambda number: "." * len(number[0]), markdown)
    for mark in re.finditer(r"\{\{|\}\}", rest):
        yield _line(markdown, mark.start()), f"{mark[0]} stands alone; a number is written {{{{name:format}}}}"
    for term in _TERM.finditer(markdown):
        if term["id"] not in glossary:
            yield _line(markdown, term.start()), f"no term {term['id']!r} in lessons/glossary.yaml"
    for mark in re.finditer(r"\[\[|\]\]", _TERM.sub(lambda term: "." * len(term[0]), markdown)):
        yield _line(markdown, mark.start()), f"{mark[0]} stands alone; a term is written [[id]] or [[id|words]]"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place)


def plain(term: Term) -> str:
    """A definition as plain text: numbers filled in, links and marks of Markdown taken off."""
    text = filled(_TERM.sub(lambda mark: mark["words"] or mark["id"].replace("-", " "), term.text))
    return re.sub(r"[*`]|(?<=\]) ?\([^)]*\)|[\[\]]", "", " ".join(text.split()))


def _spoken(term: Term) -> str:
    """A definition inside quotes of Markdown."""
    return plain(term).replace('"', "'")
