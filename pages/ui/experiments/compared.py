"""Which way a number went, so that every sentence follows the numbers in it."""

from typing import Literal

Way = Literal["more", "the same", "less"]
NOISE = 0.05
"""Two medians of a few repeats that are no farther apart are called the same: so well is a pass repeated."""


def way(before: float, after: float, *, noise: float = NOISE) -> Way:
    """How `after` stands to `before`."""
    if abs(after - before) <= noise * max(abs(before), abs(after)):
        return "the same"
    return "more" if after > before else "less"
