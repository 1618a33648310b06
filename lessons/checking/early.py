"""Words that a lesson uses before the course has explained them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from lessons.checking.typed import without_quoted
from lessons.reading.content import Ask, Lesson, Takeaway, Term, Text
from lessons.reading.written import marks_in
from quizzes import Question

_NOTHING = "(?!)"
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def introductions(lessons: Sequence[Lesson]) -> dict[str, int]:
    """The number of the lesson that first defines a term, by term."""
    return {term: lesson.number for lesson in reversed(lessons) for term in lesson.terms}


def early_uses(
    lesson: Lesson, introduced: Mapping[str, int], glossary: Mapping[str, Term], questions: Sequence[Question]
) -> Iterator[tuple[int, str]]:
    """(line, problem) of every first use of a term that comes before its mark, in the order of the lesson.

    A mark explains: it links to the definition. In a question nothing can be marked, so it has to come later; but
    the one that opens a lesson asks for a guess and may use the lesson's own terms.
    """
    known = {term for term, number in introduced.items() if number < lesson.number}
    named = _Names(glossary)
    asked = {question.id: question for question in questions}
    for part in lesson.parts:
        if isinstance(part, Text | Takeaway):
            marks, uses = dict(marks_in(part.markdown)), dict(named.uses(part.markdown))
            for place, term in sorted((marks | uses).items()):
                if place in uses and term not in known:
                    yield part.line + part.markdown.count("\n", 0, place), _words(glossary[term], introduced)
                known.add(term)
        elif isinstance(part, Ask) and part.question in asked:
            allowed = known | set(lesson.terms) if part in lesson.opening else known
            for term in sorted({term for text in _shown(asked[part.question]) for _, term in named.uses(text)}):
                if term not in allowed:
                    yield part.line, f"question {part.question!r}: {_words(glossary[term], introduced)}"


class _Names:
    """Finds terms in running text; the longer name wins, so a KV head is no head."""

    def __init__(self, glossary: Mapping[str, Term]) -> None:
        spelled = [(name, term.id) for term in glossary.values() for name in (term.term, *term.also)]
        self._names = sorted(spelled, key=lambda pair: -len(pair[0]))
        self._found = re.compile("|".join(f"({_pattern(name)})" for name, _ in self._names) or _NOTHING)

    def uses(self, text: str) -> Iterator[tuple[int, str]]:
        """(place, term) outside of marks, numbers, code and quotation marks."""
        for use in self._found.finditer(without_quoted(_CODE.sub(_blank, text))):
            assert use.lastindex is not None
            yield use.start(), self._names[use.lastindex - 1][1]


def _pattern(name: str) -> str:
    """One or many; capitals as they are in an abbreviation, else as a sentence has them."""
    words = r"[\s-]+".join(map(re.escape, name.split()))
    return rf"(?{'' if name.isupper() else 'i'}:(?<![\w-]){words}(?:s|es)?(?![\w-]))"


def _words(term: Term, introduced: Mapping[str, int]) -> str:
    number = introduced.get(term.id)
    where = f"lesson {number} introduces it" if number else "no lesson introduces it"
    return f"{term.term!r} is used before it is explained, and {where}; mark its first use, [[{term.id}|words]]"


def _shown(question: Question) -> Iterator[str]:
    """What is read before answering."""
    asked = question.asked("")
    yield asked.prompt
    yield from (option.text for option in asked.options)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "·", match[0])
