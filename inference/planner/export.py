"""A plan as CSV and as Markdown: what was asked, what came out, what it rests on. All of it estimated."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, fields

from inference.arithmetic.units import scaled, seconds, significant
from inference.planner.parts import first_step_s
from inference.planner.plan import Plan, at_best
from inference.planner.price import energy_kwh, money
from inference.planner.published.scope import outside
from inference.planner.published.tolerance import checked
from inference.planner.settings import PlanSettings, defaults

MEASURED = "from the roofs measured on this machine"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKS = "\\`*_{}[]<>#!|~&$@"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an export; an empty field where there is nothing to say."""

    part: str
    name: str
    value: str | float
    unit: str = ""
    at_best: float | str = ""
    """The same at full peak and bandwidth; exchanges stay."""
    note: str = ""


def to_csv(plan: Plan, settings: PlanSettings) -> str:
    """Unrounded numbers. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(Line))
    for line in lines(plan, settings):
        writer.writerow(_inert(getattr(line, field.name)) for field in fields(Line))
    return out.getvalue()


def to_markdown(plan: Plan, settings: PlanSettings) -> str:
    """A table per part, three significant digits; names from anybody are escaped."""
    blocks = [f"# {_plain(plan.spec.name)} on {_plain(plan.hardware.name)}", "", "Estimated, not measured."]
    part = ""
    for line in lines(plan, settings):
        if line.part != part:
            part = line.part
            blocks += ["", f"## {part}", "", "| | value | at best | note |", "|---|---:|---:|---|"]
        value, best = (_short(number, line.unit) for number in (line.value, line.at_best))
        cells = (line.name, value, best, line.note)
        blocks.append(f"| {' | '.join(map(_plain, cells))} |")
    return "\n".join((*blocks, ""))


def lines(plan: Plan, settings: PlanSettings) -> tuple[Line, ...]:
    """All of the plan in one order: settings, results, memory, cost, efficiency, error."""
    return (
        *_settings(plan),
        *_results(plan),
        *_memory(plan),
        *_cost(plan, settings),
        *_efficiency(plan, settings),
        *(Line("Outside what was checked", str(number), text) for number, text in enumerate(outside(plan), 1)),
    )


def _settings(plan: Plan) -> Iterator[Line]:
    part, work, served = "Settings", plan.workload, plan.deployment
    yield Line(part, "model", plan.spec.name, note=plan.spec.source)
    yield Line(part, "hardware", plan.hardware.name, note=plan.hardware.source)
    yield Line(part, "engine class", served.engine)
    for name in ("prompt_tokens", "output_tokens", "concurrency"):
        yield Line(part, name, getattr(work, name), "conversations" if name == "concurrency" else "tokens")
    for name in ("weight_bits", "kv_bits"):
        yield Line(part, name, getattr(served, name), "bits")
    for name in ("tensor_parallel", "pipeline_parallel", "replicas"):
        yield Line(part, name, getattr(served, name))
    latency, link = served.all_reduce_s, served.link_bandwidth
    yield Line(part, "all_reduce", "" if latency is None else latency, "s")
    yield Line(part, "link", "" if link is None else link, "bytes/s", note="one direction")


def _results(plan: Plan) -> Iterator[Line]:
    part, best, known = "Results, estimated", at_best(plan), checked(plan)
    yield Line(part, "TTFT without a queue", plan.ttft_s, "s", best.ttft_s, known.ttft)
    yield Line(part, "ITL, halfway", plan.itl_s, "s", best.itl_s, known.itl)
    yield Line(part, "ITL, first step", first_step_s(plan), "s", first_step_s(best), known.itl)
    yield Line(part, "TPOT", plan.tpot_s, "s", best.tpot_s, "with the prompts of others in between")
    yield Line(part, "TPS per user", plan.tps_per_user, "tokens/s", best.tps_per_user, known.tps_per_user)
    yield Line(part, "TPS in all", plan.tps_total, "tokens/s", best.tps_total, known.whole)
    yield Line(part, "E2E without a queue", plan.e2e_s, "s", best.e2e_s, known.whole)
    yield Line(part, "prefill", plan.prefill_s, "s", best.prefill_s, plan.regimes["prefill"])
    yield Line(part, "decode", plan.itl_s, "s per step", best.itl_s, plan.regimes["decode"])
    yield Line(part, "share of prefill", plan.prefill_share, "of the time", best.prefill_share)


def _memory(plan: Plan) -> Iterator[Line]:
    part, held = "Memory of one replica", plan.memory
    yield Line(part, "weights", held.weight_bytes, "bytes")
    yield Line(part, "cache", held.cache_bytes, "bytes", note="all conversations at their full length")
    if held.rest_bytes is not None:
        yield Line(part, "rest", held.rest_bytes, "bytes", note="" if held.fits else "does not fit")
        yield Line(part, "conversations that fit", held.conversations or 0)


def _cost(plan: Plan, settings: PlanSettings) -> Iterator[Line]:
    part = "Per million tokens"
    if settings.price is not None:
        cost, unit = money(plan, settings.price), "of the price's currency"
        yield Line(part, "price", settings.price, "per accelerator and hour")
        yield Line(part, "cost of input", cost.input, unit)
        yield Line(part, "cost of output", cost.output, unit)
    if used := energy_kwh(plan):
        note = "of the accelerators alone, each at its full TDP"
        yield Line(part, "energy of input", used.input, "kWh", note=note)
        yield Line(part, "energy of output", used.output, "kWh", note=note)


def _efficiency(plan: Plan, settings: PlanSettings) -> Iterator[Line]:
    part, usual = "Efficiency", defaults(settings)
    for name, rows in (
        ("bandwidth_share", usual.decode_rows),
        ("layer_s", usual.decode_rows),
        ("flops_share", usual.prefill_rows),
        ("attention_share", usual.prefill_rows),
    ):
        value, fitted = getattr(plan.efficiency, name), getattr(usual, name)
        source = MEASURED if settings.measured else origin(rows)
        unit = "s per layer" if name == "layer_s" else "of the datasheet"
        yield Line(part, name, value, unit, note=source if value == fitted else "your own")


def origin(rows: int) -> str:
    """Where a default comes from, by the number of published rows it was fitted to."""
    if rows == 0:
        return "no published row of this hardware: the engine's general value"
    return f"fitted to {rows} published row{'s' * (rows != 1)} of this engine on this hardware"


def _inert(value: str | float) -> str | float:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _short(value: str | float, unit: str) -> str:
    """Three significant digits with the unit."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,} {unit}".strip()
    first, _, rest = unit.partition(" ")
    if first == "s":
        return f"{seconds(value)} {rest}".strip()
    if first in ("bytes", "bytes/s"):
        sign = "-" if value < 0 else ""
        return f"{sign}{scaled(abs(value), first.replace('bytes', 'B'))}"
    return f"{significant(value)} {unit}".strip()


def _plain(text: str) -> str:
    """Text in a Markdown cell: no mark in it means anything, and no address becomes a link."""
    one_line = " ".join(text.split())
    escaped = "".join(f"\\{char}" if char in _MARKS else char for char in one_line)
    return escaped.replace("://", "\\://").replace("www.", "www\\.")
