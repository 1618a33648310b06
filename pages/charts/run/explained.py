"""What limits a measured pass, in words: each limit's share of its time, a verdict only where one dominates."""

from inference.arithmetic.roofline import Explained
from inference.arithmetic.units import percent


def verdict(explained: Explained) -> str:
    """The regime, or that there is none."""
    return explained.regime or "no single limit"


def shares(explained: Explained) -> str:
    """What each floor is of the pass; at its measured roof each, so all three are estimates."""
    return (
        f"reading {percent(explained.reading)}, arithmetic {percent(explained.arithmetic)}, overhead "
        f"{percent(explained.overhead)}"
    )


def explanation(explained: Explained) -> str:
    """The verdict, the shares it follows from, and what they leave open."""
    name = explained.regime.capitalize() if explained.regime else "No single limit explains this pass"
    sentence = f"{name}: of its time, by the measured roofs, {shares(explained)} (estimated)"
    if explained.is_above_roof:
        return (
            f"{sentence}. That is above a measured roof: a processor cache helped, "
            "or the roof was measured too low."
        )
    if explained.unexplained < 0:
        return f"{sentence}; together more than the pass took, so they overlap."
    return f"{sentence}; {percent(explained.unexplained)} unexplained."
