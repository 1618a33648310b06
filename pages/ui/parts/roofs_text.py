"""What is known about this machine's roofs beside their values: the spread, what beat them, what was left out."""

from inference.arithmetic.roofline import OVERHEAD, READ, Ceilings, Spread
from inference.arithmetic.units import percent, scaled, seconds
from inference.machine.roof_watch import widest


def about_roofs(ceilings: Ceilings, beaten_by: float = 0.0) -> str:
    """Sentences; empty only for roofs whose repeats were not kept and of which nothing was left out."""
    sentences = []
    if ceilings.spreads:
        quartiles = "; ".join(
            f"{spread.roof} {_value(spread, spread.lower)} to {_value(spread, spread.upper)}"
            for spread in ceilings.spreads
        )
        sentences.append(f"The roof is the best repeat; quartiles: {quartiles}.")
    if wide := widest(ceilings):
        sentences.append(
            f"Those of the {wide.roof} lie {percent(wide.width)} apart, so other programs ran meanwhile: "
            "the roofs are measured again in the background."
        )
    if beaten_by:
        sentences.append(
            f"A pass was {percent(beaten_by)} faster than they allow: they are measured again in the background."
        )
    return " ".join([*sentences, *ceilings.left_out])


def _value(spread: Spread, value: float) -> str:
    if spread.roof == OVERHEAD:
        return seconds(value)
    return scaled(value, "B/s" if spread.roof == READ else "FLOP/s")
