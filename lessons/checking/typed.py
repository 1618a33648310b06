"""What must not be typed in a lesson: numbers with a unit, and words that the glossary has a better one for."""

import re
from collections.abc import Iterator, Mapping

from lessons.reading.content import Term

ALLOWED = ("1 byte", "2 bytes", "4 bytes", "0 %", "100 %", "100%", "1 second", "one second", "1 s")
"""Typed as they are: widths of a data type, the ends of a scale, and the length of a unit."""
_LETTERS = ("s", "B", "W", "h")
"""Units only after a space: an 8B is a model, the 1990s are a decade."""
_WORDS = (
    *("ns", "µs", "us", "ms", "sec", "seconds?", "milliseconds?", "microseconds?", "minutes?", "hours?"),
    *("bytes?", "[kKMGTP]i?B", "(?:kilo|mega|giga|tera|kibi|mebi|gibi)bytes?", "[kMGTP]?bits?/s", "[kMGT]bps"),
    *("[kMGTP]?B/s", "[kMGTPE]?FLOPS?", "[kMGTPE]?FLOPs", "[kMGTPE]?FLOP/s", "[KMGT]?Hz", "watts?"),
    *("%", "percent", "per cent", "tokens/s", "tok/s", "tokens per second"),
)
_SPACED, _JOINED = "|".join((*_WORDS, *_LETTERS)), "|".join(_WORDS)
_NUMBER = re.compile(rf"(?<![\w.])\d[\d,.]*(?:[ \u00a0\u202f\n-](?:{_SPACED})|(?:{_JOINED}))(?![\w/])")
_FILLED = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"")


def typed_numbers(text: str) -> Iterator[tuple[int, str]]:
    """(line from 0, problem) of every number with a unit outside `{{ }}`."""
    outside = _FILLED.sub(_blank, text)
    for number in _NUMBER.finditer(outside):
        words = " ".join(number[0].split())
        if words not in ALLOWED:
            line = text.count("\n", 0, number.start())
            yield line, f"{words!r} is typed; quote a fact, {{{{name:format}}}}, computed in inference/facts/"


def unwanted_words(text: str, glossary: Mapping[str, Term]) -> Iterator[tuple[int, str]]:
    """(line from 0, problem) of every word the glossary replaces. Words in quotation marks are talked about."""
    spoken = without_quoted(text)
    assert len(spoken) == len(text)
    for term in glossary.values():
        for word in term.avoid:
            spaced = r"[\s-]+".join(map(re.escape, word.split()))
            for use in re.finditer(rf"(?<![\w-]){spaced}(?![\w-])", spoken, re.IGNORECASE):
                line = text.count("\n", 0, use.start())
                yield line, f"say {term.term!r}, not {use[0]!r} (or put it in quotation marks)"


def without_quoted(text: str) -> str:
    """The text as long as before, with nothing in it that is computed or in quotation marks."""
    return _QUOTED.sub(_blank, _FILLED.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    """As long, with the same lines, and nothing to find in it."""
    return re.sub(r"[^\n]", "·", match[0])
