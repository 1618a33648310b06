"""Questions answered with a number: computed from facts, or from the learner's own run."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from inference.arithmetic.units import percent, significant
from inference.trace import Trace
from quizzes.kinds.content import Asked, Content, Grade, Prompted, Text
from quizzes.kinds.filled import fact, fact_format, facts_in, filled
from quizzes.kinds.measures import measure
from quizzes.kinds.typed_number import in_unit, parse, quantity

Tolerance = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)]
"""Relative: 0.05 takes what is within 5 % of the right value."""
_DIMENSIONS = {
    "bytes": "b",
    "binary": "b",
    "seconds": "time",
    "flop": "flop",
    "flops": "flop/s",
    "rate": "b/s",
    "percent": "share",
}
"""What a fact measures, by its format."""
_ROUNDING = 1e-9  # relative; of the arithmetic, so that a tolerance of 0 still takes the right value


class Mistake(Content):
    """A wrong value that a known slip leads to: another fact, or the right value times a factor."""

    fact: Text | None = None
    factor: float | None = Field(None, gt=0, allow_inf_nan=False)
    feedback: Text

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.fact is None) == (self.factor is None):
            raise ValueError("a mistake has either a fact or a factor; give one of them")
        return self


class NumberQuestion(Prompted):
    """The right value is a fact; the file holds no number of it."""

    kind: Literal["number"]
    fact: Text
    unit: str = ""
    tolerance: Tolerance
    feedback: Text
    mistakes: tuple[Mistake, ...] = ()

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        if self.fact in facts_in(self.prompt):
            raise ValueError(f"the prompt tells the answer: it quotes {self.fact!r}; ask without it")
        for mistake in self.mistakes:
            is_close = mistake.factor is not None and _is_close(mistake.factor, 1.0, self.tolerance)
            if is_close or mistake.fact == self.fact:
                raise ValueError("a mistake lies within the tolerance of the right value; make it narrower")
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the prompt and the unit, no value."""
        return Asked(self.id, self.kind, self.spoken_prompt, unit=self.unit)

    def grade(self, given: object) -> Grade:
        """Grade a number as it was typed. ValueError where it cannot be read: that costs nothing."""
        value = parse(given if isinstance(given, str) else "", self.unit)
        right = self._value()
        words = filled(self.feedback)
        if _is_close(value, right, self.tolerance):
            return Grade(True, words)
        for mistake in self.mistakes:
            if _is_close(value, self._mistaken(mistake), self.tolerance):
                return Grade(False, f"{filled(mistake.feedback)}\n\n{words}")
        return Grade(False, f"{_side(value, right)} {words}")

    def right(self) -> str:
        return _typed(self._value(), self.unit)

    def wrong(self) -> tuple[str, ...]:
        """Far off on both sides, and every known slip."""
        far = (self._value() * 10 + 1, self._value() / 10 - 1)
        return tuple(_typed(value, self.unit) for value in (*far, *map(self._mistaken, self.mistakes)))

    def unit_problem(self) -> str:
        """Why the unit is not one of the fact's; empty if it is."""
        asked, expected = quantity(self.unit), _DIMENSIONS.get(fact_format(self.fact), "")
        if asked.dimension == expected or (not expected and asked.size == 1):
            return ""
        kind = fact_format(self.fact)
        return f"unit {self.unit!r} does not fit fact {self.fact!r}, which is written as {kind}; choose another"

    def _value(self) -> float:
        return in_unit(fact(self.fact), self.unit)

    def _mistaken(self, mistake: Mistake) -> float:
        if mistake.fact is not None:
            return in_unit(fact(mistake.fact), self.unit)
        return self._value() * (mistake.factor or 1.0)


_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_PLACEHOLDERS = ("given", "measured", "error")


class PredictQuestion(Prompted):
    """The learner commits a number, the model runs, and the right value is read from that run."""

    kind: Literal["predict"]
    measure: Text
    unit: str = ""
    tolerance: Tolerance
    feedback: Text
    """May hold {given}, {measured} and {error}."""

    @model_validator(mode="after")
    def _is_answerable(self) -> Self:
        base = quantity(measure(self.measure).unit)
        if quantity(self.unit).dimension != base.dimension:
            raise ValueError(
                f"unit {self.unit!r} does not measure {self.measure!r}, which is in {measure(self.measure).unit}"
            )
        for name in _PLACEHOLDER.findall(self.feedback):
            if name not in _PLACEHOLDERS:
                raise ValueError(f"feedback holds {{{name}}}; there are {{given}}, {{measured}} and {{error}}")
        if not {"given", "measured"} <= set(_PLACEHOLDER.findall(self.feedback)):
            raise ValueError("feedback must show both numbers: write {given} and {measured} in it")
        return self

    def asked(self, seed: str) -> Asked:
        """What may be sent before an answer: the prompt and the unit."""
        return Asked(self.id, self.kind, self.spoken_prompt, unit=self.unit)

    def read(self, given: object) -> float:
        """The prediction, in the question's unit. ValueError where it cannot be read."""
        return parse(given if isinstance(given, str) else "", self.unit)

    def grade(self, given: object, trace: Trace | None = None) -> Grade:
        """Hold the prediction against the run."""
        value = self.read(given)
        if trace is None:
            raise ValueError(f"the answer to {self.id!r} comes from a run; run the model first")
        measured = self.measured(trace)
        words = {
            "given": _words(value, self.unit),
            "measured": _words(measured, self.unit),
            "error": _error(value, measured),
        }
        feedback = filled(_PLACEHOLDER.sub(lambda mark: words[mark[1]], self.feedback))
        return Grade(_is_close(value, measured, self.tolerance), feedback)

    def measured(self, trace: Trace) -> float:
        """The right value of this run, in the question's unit."""
        return in_unit(measure(self.measure).compute(trace), self.unit)

    def right(self, trace: Trace) -> str:
        return _typed(self.measured(trace), self.unit)

    def wrong(self, trace: Trace) -> tuple[str, ...]:
        return tuple(_typed(value, self.unit) for value in (self.measured(trace) * 10 + 1, -1.0))


def _is_close(value: float, right: float, tolerance: float) -> bool:
    return abs(value - right) <= (tolerance + _ROUNDING) * abs(right)


def _side(value: float, right: float) -> str:
    """How far off, in words."""
    return f"That is too {'high' if value > right else 'low'}."


def _error(value: float, right: float) -> str:
    """31 % too high."""
    if value == right:
        return "exact"
    side = "high" if value > right else "low"
    if right == 0:
        return f"too {side}"
    share = abs(value - right) / abs(right)
    size = percent(share) if share < 10 else f"{significant(value / right)} times"
    return f"{size} too {side}"


def _words(value: float, unit: str) -> str:
    number = f"{'−' if value < 0 else ''}{_digits(abs(value), unit)}"
    return f"{number}×" if unit == "x" else f"{number} {unit}".strip()


def _digits(value: float, unit: str) -> str:
    """Three significant digits; a count of tokens or passes is whole."""
    is_count = quantity(unit).dimension not in ("time", "share", "factor") and value.is_integer() and value < 1e6
    return f"{value:,.0f}" if is_count else significant(value)


def _typed(value: float, unit: str) -> str:
    return f"{value!r} {unit}".strip()
