"""Judges an output by other programs than the one that made the mask: jsonschema, and the module regex.

A learner's own pattern, references or values may lead either into work without end, so both get a deadline; what
looks at no clock, as the comparison of every item of a list with every other, is ended from outside.
"""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import regex
from jsonschema import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from inference.jobs import killable
from inference.structure.drafts import draft_of
from inference.structure.records import Constraint, choices

DEADLINE_S = 1.0
_KILLED_S = 2.0
# regex.V1 below: sets in sets and && in them, as in the mask's own expressions
_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]


def judge(constraint: Constraint, text: str) -> Future[bool | None]:
    """`is_valid`, found out in another process; a KilledError where even that did not end."""
    return killable.submit(is_valid, constraint, text, deadline_s=_KILLED_S)


def is_valid(constraint: Constraint, text: str) -> bool | None:
    """Whether `text` as a whole is what the constraint asks for; None if that could not be found out in time."""
    deadline = time.monotonic() + DEADLINE_S
    try:
        match constraint.kind:
            case "choices":
                return text in choices(constraint.source)
            case "regular expression":
                return regex.fullmatch(constraint.source, text, regex.V1, timeout=DEADLINE_S) is not None
            case "JSON schema":
                return _fits(constraint.source, text, deadline)
    except (TimeoutError, RecursionError, Unresolvable, regex.error):
        return None


def _fits(source: str, text: str, deadline: float) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    schema = json.loads(source)
    draft = draft_of(schema).validator
    schema.pop("$schema", None)  # jsonschema would go on with that draft's own keywords, which know no deadline
    keywords: dict[str, Any] = dict(draft.VALIDATORS) | {"pattern": _pattern(deadline)}
    timed = {name: _timed(keyword, deadline) for name, keyword in keywords.items()}
    checker = extend(draft, timed)  # type: ignore[no-untyped-call]
    return bool(checker(schema, registry=Registry()).is_valid(value))


def _timed(keyword: _Keyword, deadline: float) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _left(deadline)
        yield from keyword(validator, value, instance, schema) or ()

    return check


def _pattern(deadline: float) -> _Keyword:
    def check(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not regex.search(pattern, instance, regex.V1, timeout=_left(deadline)):
            yield ValidationError("the pattern is not found")

    return check


def _left(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
