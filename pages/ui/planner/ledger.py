"""Memory, money and energy of a plan, as one card."""

from inference.deployment import smallest_fit
from inference.plan_cost import energy_kwh, money
from inference.planner import Plan
from pages.charts.units import scaled, significant
from pages.ui.card import Card, Figure


def ledger(made: Plan, price: float | None) -> Card:
    """The ledger of one replica, how many conversations fit, and what a million tokens cost."""
    return Card(
        figures=(*_memory(made), *_costs(made, price)), sentence=" ".join(words(made, price)), height=_HEIGHT
    )


_HEIGHT = 148


def _memory(made: Plan) -> tuple[Figure, ...]:
    held, rest = made.memory, made.memory.rest_bytes
    figures = [
        Figure(scaled(held.weight_bytes, "B"), "weights"),
        Figure(scaled(held.cache_bytes, "B"), "KV caches"),
    ]
    if held.total_bytes is not None and rest is not None:
        what = "left" if held.fits else "missing"
        figures.append(Figure(scaled(abs(rest), "B"), f"{what} of {scaled(held.total_bytes, 'B')}"))
        figures.append(Figure(f"{held.conversations:,}", "conversations fit"))
    return tuple(figures)


def _costs(made: Plan, price: float | None) -> tuple[Figure, ...]:
    figures = []
    if price is not None:
        cost = money(made, price)
        figures.append(
            Figure(f"{significant(cost.input)} / {significant(cost.output)}", "cost of 1M tokens in / out")
        )
    if used := energy_kwh(made):
        pair = f"{significant(used.input)} / {significant(used.output)} kWh"
        figures.append(Figure(pair, "energy of 1M tokens in / out, at most"))
    return tuple(figures)


def words(made: Plan, price: float | None) -> list[str]:
    """Whether it fits, and what the figures leave out."""
    told = [fit(made)] if made.memory.fits else []
    if price is not None:
        told.append("A prompt's time is booked to its tokens, that of the steps to the answer's; never idle.")
    if made.hardware.tdp_w is not None:
        told.append(
            f"Energy at most: every accelerator at its full TDP of {made.hardware.tdp_w:,.0f} W, host and cooling "
            "left out."
        )
    return told


def fit(made: Plan) -> str:
    """Whether weights and caches fit; if not, by how much, and the smallest split that holds them."""
    held, rest = made.memory, made.memory.rest_bytes
    if held.total_bytes is None or rest is None:
        return "How much memory it has is not known here: compare the sum with yours."
    served = made.deployment
    replica = "a replica's accelerators" if served.num_accelerators > served.replicas else "one accelerator"
    if held.fits:
        return f"In {replica}, at the label's memory: activations and the program need a little of what is left."
    ways = smallest_fit(made.spec, made.hardware, made.workload, served)
    remedy = (
        f"tensor parallelism of {ways} is the smallest that holds it"
        if ways
        else "no tensor parallelism that divides its heads does: take fewer conversations or fewer bits"
    )
    return (
        f"It does not fit: {scaled(-rest, 'B')} are missing in {replica}; {remedy}. The numbers are those it would "
        "have."
    )
