"""Reads one lesson file: front matter, sections, and what stands in them. Problems come with their lines."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from lessons.reading.content import Ask, Lesson, Part, Place, Section, Takeaway, Text
from lessons.reading.front_matter import split
from quizzes import Problem

NAME = re.compile(r"\d\d_[a-z0-9-]+")
_DIRECTIVE = re.compile(r":::(\w*)\s*(\S*)\s*(.*)")
_TAKEAWAY = "> **Takeaway.**"
_CODE = "```"


def read_lesson(path: Path) -> tuple[Lesson | None, list[Problem]]:
    """The lesson, as far as it can be read, and everything wrong with its form."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return None, [Problem(path, 0, f"cannot be read: {error}")]
    if not NAME.fullmatch(path.stem):
        return None, [Problem(path, 0, "a lesson is called NN_id.md: two digits, _, an id of small letters and -")]
    parts, problems = split(path, text)
    if parts is None:
        return None, problems
    body = _Body(path)
    for number, line in enumerate(parts.body, parts.first_line):
        body.take(number, line)
    body.finish()
    front = parts.front
    lesson = Lesson(
        path=path,
        title=front.title,
        summary=front.summary,
        minutes=front.minutes,
        can=front.can,
        quiz=front.quiz,
        terms=front.terms,
        sources=front.sources,
        opening=tuple(body.opening),
        sections=tuple(body.sections),
        lines=parts.lines,
    )
    return lesson, body.problems


@dataclass(slots=True)
class _Body:
    """Takes the lines of a body one by one."""

    path: Path
    opening: list[Part] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _text_line: int = 0
    _is_takeaway: bool = False
    _is_code: bool = False

    def take(self, number: int, line: str) -> None:
        if line.startswith(_CODE):
            self._is_code = not self._is_code
        if self._is_code:
            self._add_text(number, line)
        elif line.startswith(":::"):
            self._end_text()
            self._direct(number, line)
        elif line.startswith("#"):
            self._end_text()
            self._head(number, line)
        elif line.startswith(_TAKEAWAY):
            self._end_text()
            self._is_takeaway = True
            self._add_text(number, line.removeprefix(_TAKEAWAY))
        elif self._is_takeaway and line.startswith(">"):
            self._add_text(number, line.removeprefix(">"))
        else:
            if self._is_takeaway:
                self._end_text()
            self._add_text(number, line)

    def finish(self) -> None:
        if self._is_code:
            self.problems.append(Problem(self.path, self._text_line, f"code is not closed; end it with {_CODE}"))
        self._end_text()

    def _add_text(self, number: int, line: str) -> None:
        if not self._text and not line.strip():
            return
        if not self._text:
            self._text_line = number
        self._text.append(line)

    def _end_text(self) -> None:
        text = "\n".join(self._text).strip()
        if text or self._is_takeaway:
            self._add((Takeaway if self._is_takeaway else Text)(self._text_line, text))
        if self._is_takeaway and not text:
            self.problems.append(Problem(self.path, self._text_line, "the takeaway is empty; say the one thing"))
        self._text, self._is_takeaway = [], False

    def _head(self, number: int, line: str) -> None:
        title = line.removeprefix("## ").strip()
        if not line.startswith("## ") or not title:
            words = f"{line.strip()!r}: the only headings are sections, ## and a title"
            self.problems.append(Problem(self.path, number, words))
            return
        self.sections.append(Section(number, title, ()))

    def _direct(self, number: int, line: str) -> None:
        directive = _DIRECTIVE.fullmatch(line.strip())
        kind, name, rest = directive.groups() if directive else ("", "", "")
        if kind == "question" and name and not rest:
            self._add(Ask(number, name))
        elif kind == "experiment" and name:
            self._add(Place(number, name, rest))
        else:
            words = "a directive is `:::question id` or `:::experiment name key=value`"
            self.problems.append(Problem(self.path, number, f"{line.strip()!r}: {words}"))

    def _add(self, part: Part) -> None:
        if self.sections:
            last = self.sections[-1]
            self.sections[-1] = Section(last.line, last.title, (*last.parts, part))
        else:
            self.opening.append(part)
