"""`Measurement`: one number of the table, and how a table of them is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["ok", "over", "under", "report"]


@dataclass(frozen=True, slots=True)
class Measurement:
    name: str
    value: float
    unit: str = ""
    """Empty for a ratio or a count."""
    limit: float | None = None
    """The most that `value` may be; None where nothing is promised."""
    least: float | None = None
    """The least it may be."""
    detail: Mapping[str, float | str] = field(default_factory=dict)
    """What else was seen on the way, for results.json."""

    @property
    def verdict(self) -> Verdict:
        if self.limit is not None and self.value > self.limit:
            return "over"
        if self.least is not None and self.value < self.least:
            return "under"
        return "report" if self.limit is None and self.least is None else "ok"


def table(measurements: Sequence[Measurement]) -> str:
    """Name, measured, limit and verdict, in columns."""
    rows = [("name", "measured", "limit", "")]
    rows += [(row.name, _written(row.value, row.unit), _limit(row), row.verdict) for row in measurements]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{name:<{widths[0]}}  {measured:>{widths[1]}}  {limit:>{widths[2]}}  {verdict}"
        for name, measured, limit, verdict in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _limit(row: Measurement) -> str:
    if row.least is not None:
        return f"at least {_written(row.least, row.unit)}"
    return "" if row.limit is None else _written(row.limit, row.unit)


def _written(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"
    return f"{number} {unit}".strip()
