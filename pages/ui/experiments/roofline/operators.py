"""Every operator of a pass, for any shape: its FLOPs, its bytes by kind, and the roof that holds it."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import get_args

import streamlit as st

from inference.arithmetic.operators import Operator, arithmetic_dtype, in_precision, operators, shares
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import percent, scaled, significant
from inference.catalogue import hardware, models
from inference.cost import Work
from inference.machine.placed import doubt
from inference.trace import Phase
from pages.charts.roofline.operators import intensities
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card

RUNNING = "the running model"
THIS_MACHINE = "this machine"
_BITS = (32, 16, 8, 4)
_PHASES: tuple[Phase, ...] = get_args(Phase)


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    model: str = RUNNING
    """Or the id of a catalogue shape."""
    phase: Phase = "decode"
    """Whose numbers the table shows; the chart shows both."""
    num_tokens: int = 512
    """The prompt's length, and the context a decode step ends with."""
    batch: int = 1
    weight_bits: int = 0
    """32, 16, 8 or 4; 0 is the running model's own width, 16 for a catalogue shape."""
    roofs: str = THIS_MACHINE
    """Or the id of a catalogue machine."""


_DEFAULT = OperatorSettings()


@dataclass(frozen=True, slots=True)
class _Roofs:
    """What the operators are compared with; None where a number cannot be had, and then `words` says why."""

    words: str
    bandwidth: float | None = None
    flops: float | None = None


def operator_table(
    settings: OperatorSettings = _DEFAULT, *, key: str = "operators", is_fixed: bool = False
) -> None:
    """One chart of intensities against the ridge, and the table of one phase."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        shapes, machines = models(), hardware()
        model = controls.select(
            "Model",
            [RUNNING, *shapes],
            settings.model,
            format_func=lambda model_id: shapes[model_id].name if model_id in shapes else model_id,
        )
        engine = state.laboratory().engine
        spec = engine.spec if engine and model == RUNNING else shapes.get(model)
        if spec is None:
            st.text(state.laboratory().status.sentence)
            return
        num_tokens = controls.number("Tokens", settings.num_tokens, 1, 131_072, width=120)
        batch = controls.number("Batch", settings.batch, 1, 1024, width=110)
        own = settings.weight_bits or round(spec.weight_bits)
        # the width a slider starts from is the model's: one slider for each model
        bits = Controls(f"{key}-{model}", is_fixed=is_fixed).steps(
            "Weight bits", sorted({*_BITS, own}, reverse=True), own, width=170
        )
        roofs_of = controls.select(
            "Roofs",
            [THIS_MACHINE, *machines],
            settings.roofs,
            format_func=lambda machine_id: (
                machines[machine_id].name if machine_id in machines else f"{machine_id}, measured"
            ),
        )
    rows = _rows(in_precision(spec, bits), num_tokens, batch)
    roofs = _roofs(roofs_of, bits)
    _chart(rows, roofs, key, version=(spec, num_tokens, batch, bits, roofs))
    phase = controls.choice("Phase of the table", _PHASES, settings.phase)
    size = f"{num_tokens:,} tokens" if phase == "prefill" else f"one token at context {num_tokens:,}"
    table_card(
        table(rows[phase], roofs.bandwidth, roofs.flops),
        key=f"{key}-table",
        title=f"{spec.name}, {phase} of {size}, batch {batch:,}, {bits}-bit weights: estimated",
        caption=summary(rows[phase], roofs.bandwidth, roofs.flops) or roofs.words,
    )


def _rows(spec: ModelSpec, num_tokens: int, batch: int) -> dict[Phase, Sequence[Operator]]:
    return {
        phase: operators(
            spec,
            num_query_tokens=num_tokens if phase == "prefill" else 1,
            context_len=num_tokens,
            batch_size=batch,
        )
        for phase in _PHASES
    }


def _roofs(roofs_of: str, bits: int) -> _Roofs:
    if roofs_of == THIS_MACHINE:
        ceilings = state.laboratory().ceilings
        if ceilings is None:
            return _Roofs("This machine's roofs have not been measured, so no bound is given.")
        if trouble := doubt(ceilings):
            return _Roofs(trouble)
        return _Roofs(f"this machine, measured in {ceilings.dtype}", ceilings.bandwidth, ceilings.flops)
    sheet = hardware()[roofs_of]
    dtype = arithmetic_dtype(sheet, bits)
    if dtype not in sheet.peak_flops:
        return _Roofs(f"{sheet.name} has no sourced peak in {dtype}, so no bound is given.")
    return _Roofs(f"{sheet.name}, datasheet in {dtype}", sheet.bandwidth, sheet.peak_flops[dtype])


def _chart(rows: dict[Phase, Sequence[Operator]], roofs: _Roofs, key: str, version: object) -> None:
    ridge = roofs.flops / roofs.bandwidth if roofs.flops and roofs.bandwidth else None
    chart_card(
        lambda: intensities(rows, ridge),
        version=version,
        key=f"{key}-chart",
        title="FLOP per byte of every operator",
        caption=f"Left of the ridge memory is the limit, right of it arithmetic. The ridge is of {roofs.words}."
        if ridge
        else roofs.words,
        alt="FLOP per byte of every operator in decode and in prefill, against the ridge.",
        table=lambda: _chart_table(rows),
    )


def _chart_table(rows: dict[Phase, Sequence[Operator]]) -> Table:
    lines = zip(*rows.values(), strict=True)
    return Table(
        ["operator", *(f"{phase}, FLOP/byte" for phase in rows)],
        [[some[0].name, *(significant(operator.work.intensity) for operator in some)] for some in lines],
    )


def table(rows: Sequence[Operator], bandwidth: float | None, flops: float | None) -> Table:
    """A line per operator and one for the whole pass."""
    columns = ["operator", "FLOPs", "weights", "KV read", "KV written", "activations", "FLOP/byte"]
    if bandwidth is None or flops is None:
        return Table(
            columns,
            [_cells(operator.name, operator.work) for operator in rows] + [_cells("whole pass", _sum(rows))],
        )
    parts = shares(tuple(rows), bandwidth=bandwidth, flops=flops)
    lines = [
        [*_cells(operator.name, operator.work), operator.bound(bandwidth=bandwidth, flops=flops), percent(part)]
        for operator, part in zip(rows, parts, strict=True)
    ]
    whole = Operator("whole pass", "MLP", _sum(rows))
    lines.append([*_cells(whole.name, whole.work), whole.bound(bandwidth=bandwidth, flops=flops), percent(1.0)])
    return Table([*columns, "bound by", "share of time"], lines)


def summary(rows: Sequence[Operator], bandwidth: float | None, flops: float | None) -> str:
    """How many rows memory holds and which takes longest; empty where there are no roofs."""
    if bandwidth is None or flops is None:
        return ""
    num_memory = sum(operator.bound(bandwidth=bandwidth, flops=flops) == "memory" for operator in rows)
    parts = shares(tuple(rows), bandwidth=bandwidth, flops=flops)
    longest, part = max(zip(rows, parts, strict=True), key=lambda pair: pair[1])
    return (
        f"{num_memory} of {len(rows)} operators are memory-bound; {longest.name} takes the largest share of the "
        f"time, {percent(part)}. Each runs at its own roof, one after the other; overhead is not among them."
    )


def _sum(rows: Sequence[Operator]) -> Work:
    return Work(*(sum(column) for column in zip(*(astuple(operator.work) for operator in rows), strict=True)))


def _cells(name: str, work: Work) -> list[str]:
    sizes = (work.weight_bytes, work.kv_read_bytes, work.kv_write_bytes, work.activation_bytes)
    return [
        name,
        scaled(work.flops, "FLOP"),
        *(scaled(size, "B") if size else "0" for size in sizes),
        significant(work.intensity),
    ]
