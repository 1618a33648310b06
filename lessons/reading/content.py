"""What a lesson is made of, as read from its file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Text:
    """Markdown, with its numbers and terms still in `{{...}}` and `[[...]]`."""

    line: int
    markdown: str


@dataclass(frozen=True, slots=True)
class Takeaway:
    """The one line to remember of a section; Markdown like Text."""

    line: int
    markdown: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question stands here."""

    line: int
    question: str
    """Its id in the lesson's quiz."""


@dataclass(frozen=True, slots=True)
class Place:
    """An experiment stands here."""

    line: int
    name: str
    settings: str
    """As spelled: `key=value key="two words"`."""


Part = Text | Takeaway | Ask | Place
Kind = TypeVar("Kind", Text, Takeaway, Ask, Place)


@dataclass(frozen=True, slots=True)
class Section:
    """One idea."""

    line: int
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An entry of the glossary."""

    id: str
    term: str
    text: str
    avoid: tuple[str, ...] = ()
    """Words that must not be used for it."""
    also: tuple[str, ...] = ()
    """Other words that mean it, such as an abbreviation written out."""


@dataclass(frozen=True, slots=True)
class Lesson:
    path: Path
    title: str
    summary: str
    minutes: int
    can: tuple[str, ...]
    """What the learner is able to do after it."""
    quiz: str
    terms: tuple[str, ...]
    """Glossary ids it defines."""
    sources: tuple[str, ...]
    opening: tuple[Part, ...]
    """Before the first section."""
    sections: tuple[Section, ...]
    lines: Mapping[str, int]
    """Where each key of the front matter stands."""

    @property
    def id(self) -> str:
        """`kv-cache` of 05_kv-cache.md: it is kept with a learner's progress."""
        return self.path.stem.partition("_")[2]

    @property
    def number(self) -> int:
        return int(self.path.stem.partition("_")[0])

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of them, in the order of the file."""
        return (*self.opening, *(part for section in self.sections for part in section.parts))

    def all_of(self, kind: type[Kind]) -> Iterator[Kind]:
        """The parts of one kind."""
        return (part for part in self.parts if isinstance(part, kind))

    @property
    def texts(self) -> tuple[Text | Takeaway, ...]:
        """All that is read."""
        return tuple(part for part in self.parts if isinstance(part, Text | Takeaway))

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of those asked in it, in order."""
        return tuple(ask.question for ask in self.all_of(Ask))
