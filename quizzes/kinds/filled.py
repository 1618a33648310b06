"""Numbers in the text of questions: `{{fact:format}}`, computed by `inference/facts/` when the text is shown."""

import re

from inference.facts.fact import FORMATS

_FACT = re.compile(r"\{\{\s*(?P<name>[a-z0-9_]+)\s*:\s*(?P<format>[a-z]+)\s*\}\}")


def filled(text: str) -> str:
    """The text with its numbers."""
    if "{{" not in text:
        return text
    from inference import facts  # noqa: PLC0415  # most questions quote no number

    return _FACT.sub(lambda mark: facts.text(mark["name"], mark["format"]), text)


def fact(name: str) -> float:
    """A fact's value in base units: seconds, bytes, FLOP, or 1."""
    from inference import facts  # noqa: PLC0415

    return facts.value(name)


def fact_format(name: str) -> str:
    """How the fact is written where nothing else is asked for, which says what it measures."""
    from inference import facts  # noqa: PLC0415

    return facts.FACTS[name].format


def facts_in(text: str) -> set[str]:
    """Names of the facts a text quotes."""
    return {mark["name"] for mark in _FACT.finditer(text)}


def problem_in(text: str) -> str:
    """What is wrong with the numbers of a text; empty if nothing is."""
    if "{{" in _FACT.sub("", text) or "}}" in _FACT.sub("", text):
        return "a number is written {{name:format}}, in small letters and without spaces inside a name"
    for mark in _FACT.finditer(text):
        if mark["format"] not in FORMATS:
            return f"{{{{{mark['name']}:{mark['format']}}}}}: the format must be one of {', '.join(FORMATS)}"
        if problem := problem_with(mark["name"]):
            return problem
    return ""


def problem_with(name: str) -> str:
    """Why there is no such fact; empty if there is."""
    from inference import facts  # noqa: PLC0415

    return "" if name in facts.FACTS else f"no fact {name!r} in inference/facts/"
