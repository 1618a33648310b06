"""What limits a measured pass, in words: each limit's share of its time, a verdict only where one dominates."""

from inference.arithmetic.roofline import Explained
from inference.arithmetic.units import percent


def verdict(found: Explained) -> str:
    """The regime, or that there is none."""
    return found.regime or "no single limit"


def shares(found: Explained) -> str:
    """What each floor is of the pass; at its measured roof each, so all three are estimates."""
    return (
        f"reading {percent(found.reading)}, arithmetic {percent(found.arithmetic)}, overhead "
        f"{percent(found.overhead)}"
    )


def explanation(found: Explained) -> str:
    """The verdict, the shares it follows from, and what they leave open."""
    name = found.regime.capitalize() if found.regime else "No single limit explains this pass"
    told = f"{name}: of its time, by the measured roofs, {shares(found)} (estimated)"
    if found.is_above_roof:
        return f"{told}. That is above a measured roof: a processor cache helped, or the roof was measured too low."
    if found.unexplained < 0:
        return f"{told}; together more than the pass took, so they overlap."
    return f"{told}; {percent(found.unexplained)} unexplained."
