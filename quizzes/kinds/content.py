"""What every kind of question is made of: what a browser may see of it, and what an answer gets back."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from quizzes.kinds.filled import filled

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Flag = Annotated[bool, Field(strict=True)]


@dataclass(frozen=True, slots=True)
class Option:
    """One choice, or one thing to put in order, as the learner sees it before answering."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """All of a question that may reach a browser before it is answered."""

    id: str
    kind: str
    prompt: str
    options: tuple[Option, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class PointCheck:
    """One rubric point, and whether the answer uses any of its keywords."""

    text: str
    is_mentioned: bool | None
    """None: the point has no keywords to look for."""


@dataclass(frozen=True, slots=True)
class PartCheck:
    """One part of an answer that has several: a choice that was or was not ticked, an item in its place."""

    text: str
    is_right: bool
    mark: str
    """What the learner did with it, in words: "chosen, but does not belong"."""
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """What an answer gets back."""

    is_correct: bool | None
    """None: the learner judges, against the points and the model answer."""
    feedback: str
    points: tuple[PointCheck, ...] = ()
    model_answer: str | None = None
    parts: tuple[PartCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a learner gave, with its grade."""

    given: str
    grade: Grade


class Content(BaseModel):
    """A part of a quiz file: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Prompted(Content):
    """What every kind of question has."""

    id: Id
    prompt: Text
    idea: Id
    """What it is about: mastery is counted per idea."""

    @property
    def spoken_prompt(self) -> str:
        """The prompt with its numbers."""
        return filled(self.prompt)


class Item(Content):
    """What can be chosen or put in order."""

    id: Id
    text: Text


def shuffled(items: Iterable[Item], *, seed: str, question_id: str) -> tuple[Option, ...]:
    """In an order that depends on the seed and the question only, with the numbers in their texts.

    Sorted by digest rather than random.shuffle: the same in every process and Python version.
    """

    def digest(item: Item) -> bytes:
        return hashlib.sha256(f"{seed}\n{question_id}\n{item.id}".encode()).digest()

    return tuple(Option(item.id, filled(item.text)) for item in sorted(items, key=digest))


def check_distinct(rows: Iterable[Content], fields: Iterable[str], *, what: Literal["choice", "item"]) -> None:
    """Refuse two rows that say the same: the learner could not tell them apart."""
    listed = list(rows)
    for field in fields:
        value, count = Counter(getattr(row, field) for row in listed).most_common(1)[0]
        if count > 1:
            raise ValueError(f"every {what} needs its own {field}, got {value!r} {count} times")


def ids_in(given: object, offered: Iterable[str], question_id: str) -> list[str]:
    """The ids of an answer such as "prefill,decode". ValueError names what is not offered, or comes twice."""
    if not isinstance(given, str):
        raise ValueError(f"question {question_id!r} offers no {given!r}; give ids with commas between them")
    known, ids = list(offered), [part.strip() for part in given.split(",") if part.strip()]
    for part_id in ids:
        if part_id not in known:
            raise ValueError(f"question {question_id!r} offers no {part_id!r}; give some of: {', '.join(known)}")
        if ids.count(part_id) > 1:
            raise ValueError(f"{part_id!r} is given twice; give each once")
    return ids
