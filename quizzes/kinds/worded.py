"""Questions answered in words: a term, or a few sentences that the learner compares with a rubric."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from quizzes.kinds.content import Asked, Content, Grade, PointCheck, Prompted, Text
from quizzes.kinds.filled import filled

MAX_ANSWER_CHARS = 4_000  # about a page and a half; longer is a paste, not an answer
MAX_TERM_CHARS = 80

Accepted = Annotated[tuple[Text, ...], Field(min_length=1)]


class TermMistake(Content):
    """A term that is often given instead."""

    accepts: Accepted
    feedback: Text


class TermQuestion(Prompted):
    """A term to fill in: case, spaces and hyphens do not matter."""

    kind: Literal["term"]
    accepts: Accepted
    feedback: Text
    mistakes: tuple[TermMistake, ...] = ()

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        seen: set[str] = set()
        for term in (*self.accepts, *(term for mistake in self.mistakes for term in mistake.accepts)):
            if _bare(term) in seen or not _bare(term):
                raise ValueError(f"accepts: {term!r} is blank or there twice; case and hyphens do not count")
            seen.add(_bare(term))
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the prompt. The seed has nothing to order."""
        return Asked(self.id, self.kind, self.spoken_prompt)

    def grade(self, given: object) -> Grade:
        if not isinstance(given, str) or not _bare(given):
            raise ValueError("the answer is blank; write the term")
        if len(given) > MAX_TERM_CHARS:
            raise ValueError(f"a term has at most {MAX_TERM_CHARS} characters, got {len(given):,}; shorten it")
        if _bare(given) in map(_bare, self.accepts):
            return Grade(True, filled(self.feedback))
        for mistake in self.mistakes:
            if _bare(given) in map(_bare, mistake.accepts):
                return Grade(False, filled(mistake.feedback))
        return Grade(False, filled(self.feedback))

    def right(self) -> str:
        return self.accepts[0]

    def wrong(self) -> tuple[str, ...]:
        return tuple(term for mistake in self.mistakes for term in mistake.accepts)


class Point(Content):
    """One idea a good written answer contains."""

    text: Text
    accepts: tuple[Text, ...] = ()
    """Keywords that suggest the point: case and hyphens ignored, matched where a word starts."""

    def check(self, answer: str) -> PointCheck:
        if not self.accepts:
            return PointCheck(filled(self.text), None)
        words = _normalised(answer)
        return PointCheck(
            filled(self.text),
            any(re.search(rf"(?<!\w){re.escape(_normalised(keyword))}", words) for keyword in self.accepts),
        )


class WrittenQuestion(Prompted):
    """An answer in the learner's words, which the learner compares with a rubric."""

    kind: Literal["written"]
    rubric: tuple[Point, ...] = Field(min_length=1)
    model_answer: Text

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the prompt. The seed has nothing to order."""
        return Asked(self.id, self.kind, self.spoken_prompt)

    def grade(self, given: object) -> Grade:
        """Look for each rubric point's keywords; whether the answer is right stays open."""
        if not isinstance(given, str) or not given.strip():
            raise ValueError("the answer is blank; write at least a sentence")
        if len(given) > MAX_ANSWER_CHARS:
            raise ValueError(
                f"an answer has at most {MAX_ANSWER_CHARS:,} characters, got {len(given):,}; shorten it"
            )
        return Grade(
            is_correct=None,
            feedback="You are the judge. The marks come from a search for keywords: "
            "it misses other wordings, and cannot tell a claim from its denial.",
            points=tuple(point.check(given) for point in self.rubric),
            model_answer=filled(self.model_answer),
        )

    def right(self) -> str:
        """An answer that mentions every point."""
        return filled(self.model_answer)

    def wrong(self) -> tuple[str, ...]:
        """None: the learner judges."""
        return ()


def _normalised(text: str) -> str:
    return re.sub(r"[\s\-‐‑–]+", " ", text.casefold())


def _bare(term: str) -> str:
    """Letters, digits and signs only, without an article before them."""
    words = re.sub(r"^(the|an|a) ", "", _normalised(term).strip())
    return re.sub(r"[ .,;:!?'\"“”‘’`]+", "", words)
