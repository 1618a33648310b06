"""The kinds of question, what a browser may see of them, and how each grades an answer."""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MAX_ANSWER_CHARS = 4_000  # about a page and a half; longer is a paste, not an answer

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, slots=True)
class Option:
    """One choice as the learner sees it before answering."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """All of a question that may reach a browser before it is answered."""

    id: str
    kind: str
    prompt: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class PointCheck:
    """One rubric point, and whether the answer uses any of its keywords."""

    text: str
    is_mentioned: bool | None
    """None: the point has no keywords to look for."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What an answer gets back."""

    is_correct: bool | None
    """None: the learner judges, against the points and the model answer."""
    feedback: str
    points: tuple[PointCheck, ...] = ()
    model_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a learner gave, with its grade."""

    given: str
    grade: Grade


class Content(BaseModel):
    """A part of a quiz file: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Choice(Content):
    id: Id
    text: Text
    is_correct: bool = Field(strict=True)
    feedback: Text


class Prompted(Content):
    """What every kind of question has."""

    id: Id
    prompt: Text


class ChoiceQuestion(Prompted):
    """One of several choices is right, and each has its own feedback."""

    kind: Literal["choice"]
    choices: tuple[Choice, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        num_correct = sum(choice.is_correct for choice in self.choices)
        if num_correct != 1:
            raise ValueError(f"exactly one choice must have is_correct: true, got {num_correct}")
        for field in ("id", "text", "feedback"):
            value, count = Counter(getattr(choice, field) for choice in self.choices).most_common(1)[0]
            if count > 1:
                raise ValueError(f"every choice needs its own {field}, got {value!r} {count} times")
        return self

    def shuffled(self, seed: str) -> tuple[Choice, ...]:
        """The choices in an order that depends on the seed and the question only.

        Sorted by digest rather than random.shuffle: the same in every process and Python version.
        """

        def digest(choice: Choice) -> bytes:
            return hashlib.sha256(f"{seed}\n{self.id}\n{choice.id}".encode()).digest()

        return tuple(sorted(self.choices, key=digest))

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: no feedback, nothing about which choice is right."""
        options = tuple(Option(choice.id, choice.text) for choice in self.shuffled(seed))
        return Asked(self.id, self.kind, self.prompt, options)

    def grade(self, given: object) -> Grade:
        """Grade the id of a choice; the widget's value is unchecked until here."""
        for choice in self.choices:
            if choice.id == given:
                return Grade(choice.is_correct, choice.feedback)
        offered = ", ".join(choice.id for choice in self.choices)
        raise ValueError(f"question {self.id!r} offers no choice {given!r}; give one of: {offered}")


class Point(Content):
    """One idea a good written answer contains."""

    text: Text
    accepts: tuple[Text, ...] = ()
    """Keywords that suggest the point: case and hyphens ignored, matched where a word starts."""

    def check(self, answer: str) -> PointCheck:
        if not self.accepts:
            return PointCheck(self.text, None)
        words = _normalised(answer)
        return PointCheck(
            self.text,
            any(re.search(rf"(?<!\w){re.escape(_normalised(keyword))}", words) for keyword in self.accepts),
        )


class WrittenQuestion(Prompted):
    """An answer in the learner's words, which the learner compares with a rubric."""

    kind: Literal["written"]
    rubric: tuple[Point, ...] = Field(min_length=1)
    model_answer: Text

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the prompt. The seed has nothing to order."""
        return Asked(self.id, self.kind, self.prompt)

    def grade(self, given: object) -> Grade:
        """Look for each rubric point's keywords; whether the answer is right stays open."""
        if not isinstance(given, str) or not given.strip():
            raise ValueError(f"the answer to {self.id!r} is blank, got {given!r}; write at least a sentence")
        if len(given) > MAX_ANSWER_CHARS:
            raise ValueError(
                f"an answer has at most {MAX_ANSWER_CHARS:,} characters, got {len(given):,}; shorten it"
            )
        return Grade(
            is_correct=None,
            feedback="You are the judge. The marks come from a search for keywords: "
            "it misses other wordings, and cannot tell a claim from its denial.",
            points=tuple(point.check(given) for point in self.rubric),
            model_answer=self.model_answer,
        )


Question: TypeAlias = Annotated[ChoiceQuestion | WrittenQuestion, Field(discriminator="kind")]
"""Every kind has id, kind, prompt, asked(seed) and grade(given); a new kind joins here."""


def _normalised(text: str) -> str:
    return re.sub(r"[\s\-‐‑–]+", " ", text.casefold())
