"""Questions answered by choosing: one of several, some of several, or an order."""

from itertools import combinations
from typing import Literal, Self

from pydantic import Field, model_validator

from quizzes.kinds.content import (
    Asked,
    Flag,
    Grade,
    Item,
    PartCheck,
    Prompted,
    Text,
    check_distinct,
    ids_in,
    shuffled,
)
from quizzes.kinds.filled import filled


class Choice(Item):
    is_correct: Flag
    feedback: Text


class ChoiceQuestion(Prompted):
    """One of several choices is right, and each has its own feedback."""

    kind: Literal["choice"]
    choices: tuple[Choice, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        num_correct = sum(choice.is_correct for choice in self.choices)
        if num_correct != 1:
            raise ValueError(f"exactly one choice must have is_correct: true, got {num_correct}")
        check_distinct(self.choices, ("id", "text", "feedback"), what="choice")
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: no feedback, nothing about which choice is right."""
        options = shuffled(self.choices, seed=seed, question_id=self.id)
        return Asked(self.id, self.kind, self.spoken_prompt, options)

    def grade(self, given: object) -> Grade:
        """Grade the id of a choice; the widget's value is unchecked until here."""
        for choice in self.choices:
            if choice.id == given:
                return Grade(choice.is_correct, filled(choice.feedback))
        offered = ", ".join(choice.id for choice in self.choices)
        raise ValueError(f"question {self.id!r} offers no choice {given!r}; give one of: {offered}")

    def right(self) -> str:
        """The answer key."""
        return next(choice.id for choice in self.choices if choice.is_correct)

    def wrong(self) -> tuple[str, ...]:
        """Answers that must be graded wrong."""
        return tuple(choice.id for choice in self.choices if not choice.is_correct)


_MARKS = {
    (True, True): "chosen, and it belongs",
    (True, False): "chosen, but it does not belong",
    (False, True): "left out, but it belongs",
    (False, False): "rightly left out",
}


class MultipleQuestion(Prompted):
    """Every choice is either part of the right answer or not, and says why."""

    kind: Literal["multiple"]
    choices: tuple[Choice, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        if not any(choice.is_correct for choice in self.choices):
            raise ValueError("at least one choice must have is_correct: true, got 0")
        check_distinct(self.choices, ("id", "text", "feedback"), what="choice")
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: neither feedback nor how many are right."""
        options = shuffled(self.choices, seed=seed, question_id=self.id)
        return Asked(self.id, self.kind, self.spoken_prompt, options)

    def grade(self, given: object) -> Grade:
        """Grade the ids chosen, with commas between them."""
        ids = ids_in(given, (choice.id for choice in self.choices), self.id)
        if not ids:
            raise ValueError("nothing is chosen; choose at least one")
        parts = tuple(
            PartCheck(
                filled(choice.text),
                (choice.id in ids) == choice.is_correct,
                _MARKS[choice.id in ids, choice.is_correct],
                filled(choice.feedback),
            )
            for choice in self.choices
        )
        num_right = sum(part.is_right for part in parts)
        is_correct = num_right == len(parts)
        return Grade(is_correct, "" if is_correct else _of(num_right, len(parts), "choices"), parts=parts)

    def right(self) -> str:
        return ",".join(choice.id for choice in self.choices if choice.is_correct)

    def wrong(self) -> tuple[str, ...]:
        """Each with one choice too many or too few, as far as something is left."""
        right = set(self.right().split(","))
        return tuple(",".join(sorted(right ^ {choice.id})) for choice in self.choices if right ^ {choice.id})


class OrderQuestion(Prompted):
    """Things to put in order; the file has them in the right one."""

    kind: Literal["order"]
    items: tuple[Item, ...] = Field(min_length=3, max_length=8)
    feedback: Text

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        check_distinct(self.items, ("id", "text"), what="item")
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the items, shuffled."""
        options = shuffled(self.items, seed=seed, question_id=self.id)
        return Asked(self.id, self.kind, self.spoken_prompt, options)

    def grade(self, given: object) -> Grade:
        """Grade all ids in the learner's order, with commas between them."""
        order = [item.id for item in self.items]
        ids = ids_in(given, order, self.id)
        if len(ids) < len(order):
            raise ValueError(f"{len(ids)} of {len(order)} places are filled; give every item its place")
        texts = {item.id: filled(item.text) for item in self.items}
        parts = tuple(
            PartCheck(texts[item_id], item_id == order[place], _place(order.index(item_id), place))
            for place, item_id in enumerate(ids)
        )
        num_right = sum(part.is_right for part in parts)
        is_correct = num_right == len(parts)
        words = filled(self.feedback)
        return Grade(
            is_correct, words if is_correct else f"{_of(num_right, len(parts), 'places')} {words}", parts=parts
        )

    def right(self) -> str:
        return ",".join(item.id for item in self.items)

    def wrong(self) -> tuple[str, ...]:
        """Every pair exchanged."""
        ids = [item.id for item in self.items]
        orders = []
        for left, other in combinations(range(len(ids)), 2):
            order = ids.copy()
            order[left], order[other] = order[other], order[left]
            orders.append(",".join(order))
        return tuple(orders)


def _place(right: int, place: int) -> str:
    return "in its place" if right == place else "comes earlier" if right < place else "comes later"


def _of(num_right: int, num_parts: int, what: str) -> str:
    return f"{num_right} of {num_parts} {what} are right."
