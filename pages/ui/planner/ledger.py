"""Memory, money and energy of a plan, as one card."""

from inference.arithmetic.units import scaled, significant
from inference.planner import Plan
from inference.planner.deployment import smallest_fit
from inference.planner.price import SERVER_OVER_ACCELERATORS, energy_kwh, money
from pages.ui.parts.card import Card, Figure


def ledger(plan: Plan, price: float | None) -> Card:
    """The ledger of one replica, how many conversations fit, and what a million tokens cost."""
    return Card(
        figures=(*_memory(plan), *_costs(plan, price)), sentence=" ".join(words(plan, price)), height=_HEIGHT
    )


_HEIGHT = 148


_KEPT_SHARE, _PROGRAM_BYTES = 0.1, 2.5e9
"""vLLM's gpu_memory_utilization is 0.9 by default; the program and activations take some of that."""
_MACS, _MAC_KEPT_SHARE = ("m2-", "m3-", "m4-"), 0.25
"""Metal's recommended working set is about three quarters of a Mac's memory."""


def _memory(plan: Plan) -> tuple[Figure, ...]:
    held, rest = plan.memory, plan.memory.rest_bytes
    figures = [
        Figure(scaled(held.weight_bytes, "B"), "weights"),
        Figure(scaled(held.cache_bytes, "B"), "KV caches"),
    ]
    if held.total_bytes is not None and rest is not None:
        what = "left" if held.fits else "missing"
        figures.append(Figure(scaled(abs(rest), "B"), f"{what} of {scaled(held.total_bytes, 'B')}"))
        figures.append(Figure(f"{held.conversations:,}", "conversations fit"))
    return tuple(figures)


def _costs(plan: Plan, price: float | None) -> tuple[Figure, ...]:
    figures = []
    if price is not None:
        cost = money(plan, price)
        figures.append(
            Figure(f"{significant(cost.input)} / {significant(cost.output)}", "cost of 1M tokens in / out")
        )
    if used := energy_kwh(plan):
        pair = f"{significant(used.input)} / {significant(used.output)} kWh"
        figures.append(Figure(pair, "accelerators' energy, 1M tokens in / out"))
    return tuple(figures)


def words(plan: Plan, price: float | None) -> list[str]:
    """Whether it fits, and what the figures leave out."""
    sentences = [fit(plan)] if plan.memory.fits else []
    if price is not None:
        sentences.append("A prompt's time is booked to its tokens, that of the steps to the answer's; never idle.")
    if plan.hardware.tdp_w is not None:
        sentences.append(
            f"Energy of the accelerators alone, each at its full TDP of {plan.hardware.tdp_w:,.0f} W; a whole "
            f"server draws about {SERVER_OVER_ACCELERATORS:g} times that."
        )
    return sentences


def fit(plan: Plan) -> str:
    """Whether weights and caches fit; if not, by how much, and the smallest split that holds them."""
    held, rest = plan.memory, plan.memory.rest_bytes
    if held.total_bytes is None or rest is None:
        return "How much memory it has is not known here: compare the sum with yours."
    served = plan.deployment
    replica = "a replica's accelerators" if served.num_accelerators > served.replicas else "one accelerator"
    if held.fits:
        return _with_reserve(plan, replica, held.total_bytes, rest)
    ways = smallest_fit(plan.spec, plan.hardware, plan.workload, served)
    remedy = (
        f"tensor parallelism of {ways} is the smallest that holds it"
        if ways
        else "no tensor parallelism that divides its heads does: take fewer conversations or fewer bits"
    )
    return (
        f"It does not fit: {scaled(-rest, 'B')} are missing in {replica}; {remedy}. The numbers are those it would "
        "have."
    )


def _with_reserve(plan: Plan, replica: str, total_bytes: float, rest_bytes: float) -> str:
    """Whether what is left covers what no conversation can have."""
    if plan.hardware.id.startswith(_MACS):
        kept, why = _MAC_KEPT_SHARE * total_bytes, "macOS keeps about a quarter of that from the GPU"
    else:
        per_replica = plan.deployment.num_accelerators // plan.deployment.replicas
        kept = _KEPT_SHARE * total_bytes + _PROGRAM_BYTES * per_replica
        why = "An engine leaves a tenth of that alone, and program and activations need 2 to 3 GB an accelerator"
    verdict = "which is left" if rest_bytes >= kept else "more than is left: in practice expect it not to fit"
    return f"In {replica}, at the label's memory. {why}: some {scaled(kept, 'B')}, {verdict}."
