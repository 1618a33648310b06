"""When this machine's roofs have to be measured again: they were beaten, or measured while the machine was busy."""

from dataclasses import replace

from inference.arithmetic.roofline import MULTIPLY, OVERHEAD, READ, Ceilings, Spread

BEATEN = 1.05
"""A pass at this share of its roof says that the roof is higher than what was measured."""
WIDE = 0.25
"""Quartiles this far apart, as a share of the median, say that other programs ran meanwhile."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0


def widest(ceilings: Ceilings) -> Spread | None:
    """The spread that casts most doubt; None if no roof's repeats lay far apart."""
    broadest = max(ceilings.spreads, key=lambda spread: spread.width, default=None)
    return broadest if broadest and broadest.width > WIDE else None


class RoofWatch:
    """Lets the roofs be measured again for a reason, after a pause that doubles each time: there is no storm."""

    def __init__(self, now_s: float) -> None:
        self.highest_share = 0.0
        """Of its roof that any pass reached since they were measured."""
        self._pause_s, self._ended_s = FIRST_PAUSE_S, now_s

    def is_due(self, ceilings: Ceilings, share: float, now_s: float) -> bool:
        self.highest_share = max(share, self.highest_share)
        if now_s - self._ended_s < self._pause_s:
            return False
        return self.highest_share >= BEATEN or widest(ceilings) is not None

    def ended(self, now_s: float) -> None:
        """A measurement has ended."""
        self.highest_share = 0.0
        self._pause_s, self._ended_s = min(2 * self._pause_s, LONGEST_PAUSE_S), now_s


def higher(old: Ceilings, new: Ceilings) -> Ceilings:
    """The newer roofs, but for each that the older measurement found higher: a roof is what the machine can do."""
    is_older = {
        READ: old.bandwidth > BEATEN * new.bandwidth,
        MULTIPLY: old.flops > BEATEN * new.flops,
        OVERHEAD: old.overhead_s < new.overhead_s / BEATEN,
    }
    before, rungs = {spread.roof: spread for spread in old.spreads}, dict(old.matmul_ladder)
    rungs |= {num_tokens: min(rung_s, rungs.get(num_tokens, rung_s)) for num_tokens, rung_s in new.matmul_ladder}
    return replace(
        new,
        bandwidth=old.bandwidth if is_older[READ] else new.bandwidth,
        flops=old.flops if is_older[MULTIPLY] else new.flops,
        overhead_s=old.overhead_s if is_older[OVERHEAD] else new.overhead_s,
        attention_flops=max(old.attention_flops, new.attention_flops),
        elementwise_s=new.elementwise_s or old.elementwise_s,
        matmul_ladder=tuple(sorted(rungs.items())),
        spreads=tuple(before.get(own.roof, own) if is_older[own.roof] else own for own in new.spreads),
        left_out=new.left_out if old.left_out else (),
    )
