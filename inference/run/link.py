"""A link by a table of its parameters: how each is written, read back and refused."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST_NUMBER = 30


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a link and the attribute that it carries."""

    name: str
    attribute: str
    read: Callable[[str], object]
    """What the text says; a `ValueError` that names the value and the rule."""
    write: Callable[[Any], str] = str
    is_needed: bool = False


def written(parameters: Iterable[Parameter], value_of: Callable[[str], object]) -> list[tuple[str, str]]:
    """Name and text of each parameter; an attribute that is None or an empty text is left out."""
    values = ((parameter, value_of(parameter.attribute)) for parameter in parameters)
    texts = ((parameter.name, parameter.write(value)) for parameter, value in values if value is not None)
    return [(name, text) for name, text in texts if text]


def read(
    parameters: Collection[Parameter],
    query: Mapping[str, str],
    refuse: Callable[[Parameter, ValueError], None] | None = None,
) -> dict[str, Any]:
    """The value of each attribute whose parameter is there.

    A wrong one is left out and goes to `refuse`; without that its `ValueError` is raised.
    """
    if missing := [each.name for each in parameters if each.is_needed and each.name not in query]:
        raise ValueError(f"{', '.join(missing)} is missing; copy the whole link")
    values = {}
    for parameter in parameters:
        try:
            if parameter.name in query:
                values[parameter.attribute] = parameter.read(query[parameter.name])
        except ValueError as error:
            if refuse is None:
                raise
            refuse(parameter, error)
    return values


def number(name: str, attribute: str, check: Callable[[str, object], float]) -> Parameter:
    """A number that `check`, of a `Range`, takes; where it is refused it is called by its attribute."""

    def checked(text: str) -> float:
        try:
            value: object = parsed(text)
        except ValueError:
            value = text
        return check(attribute, value)

    return Parameter(name, attribute, checked, spelled)


def spelled(value: float) -> str:
    """A number without loss: 16.0 is 16."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def parsed(text: str) -> float:
    """What `spelled` wrote, a whole number as one. ValueError for anything else."""
    if not text.isascii() or len(text) > _LONGEST_NUMBER or "_" in text:
        raise ValueError(text)
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isdigit() else float(text)
