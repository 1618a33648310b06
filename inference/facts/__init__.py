"""Named numbers that lessons quote and quizzes ask for, each computed by the project's own arithmetic.

Only those of `facts_published` are not: results that papers report.

Times and rates are of a roofline with a datasheet's dense peak and full bandwidth: what hardware reaches at best.
"""

import difflib
from functools import cache

from inference.facts import caches as facts_cache
from inference.facts import default_model as facts_default
from inference.facts import hardware as facts_hardware
from inference.facts import plans as facts_planner
from inference.facts import published as facts_published
from inference.facts import serving as facts_serving
from inference.facts import speed as facts_speed
from inference.facts import techniques as facts_techniques
from inference.facts.fact import FORMATS, Fact, UnknownFact

__all__ = ["FACTS", "Fact", "UnknownFact", "text", "value"]


def _collect(*groups: list[Fact]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for fact in (fact for group in groups for fact in group):
        if fact.name in facts:
            raise ValueError(f"fact {fact.name!r} is there twice; rename one")
        facts[fact.name] = fact
    return facts


FACTS: dict[str, Fact] = _collect(
    facts_default.FACTS,
    facts_cache.FACTS,
    facts_hardware.FACTS,
    facts_speed.FACTS,
    facts_serving.FACTS,
    facts_planner.FACTS,
    facts_techniques.FACTS,
    facts_published.FACTS,
)
"""By name."""


@cache
def value(name: str) -> float:
    """The number, in bytes, seconds, FLOP, or as a count or share."""
    return float(_known(name).compute())


def text(name: str, format: str | None = None) -> str:
    """As a lesson writes it: `text("kv_bytes_per_token_8b", "binary")` is 128 KiB."""
    chosen = _known(name).format if format is None else format
    if chosen not in FORMATS:
        raise UnknownFact(f"fact {name!r}: no format {chosen!r}; there are {', '.join(FORMATS)}")
    return FORMATS[chosen](value(name))


def _known(name: str) -> Fact:
    if name not in FACTS:
        close = difflib.get_close_matches(name, FACTS, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise UnknownFact(f"no fact {name!r} in inference/facts/{hint}")
    return FACTS[name]
