"""How far off the planner is: against what others published, and against this machine's own sweeps."""

from inference.arithmetic.units import percent, seconds
from inference.planner.published.error import PredictedRun, predictions, select, summary
from inference.planner.published.runs import Kind
from pages.charts.planner.error import agreement, off
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.planner.views.sweeps import sweeps_view

_KINDS: tuple[tuple[str, Kind], ...] = (("prefill", "prefill"), ("decode", "decode"), ("whole request", "request"))


def error_view() -> None:
    chart_card(
        lambda: agreement(predictions()),
        version="published",
        key="planner-agreement-chart",
        title="Predicted against published",
        caption="filled: held back from the fit; hollow: fitted to. Squares prefill, circles decode, diamonds "
        "whole requests; on the dashed line both are equal",
        alt="Predicted against published seconds of every row, on axes that grow by factors.",
        table=_all_rows,
    )
    table_card(
        _errors(),
        key="planner-errors",
        title="How far off is this?",
        caption="a fixed third of the published rows is held back: no value was fitted to it",
    )
    sweeps_view()


def _errors() -> Table:
    rows = []
    for is_held_back in (True, False):
        for name, kind in _KINDS:
            chosen = select(kind, is_held_back=is_held_back)
            if not chosen:
                continue
            errors = summary(chosen)
            rows.append(
                [
                    "held back" if is_held_back else "fitted to",
                    name,
                    str(errors.count),
                    percent(errors.median),
                    percent(errors.within_30),
                    f"{_what(errors.worst)}: {off(errors.worst)}",
                ]
            )
    return Table(["rows", "of", "number", "median error", "within 30 %", "worst"], rows)


def _what(row: PredictedRun) -> str:
    return f"{row.run.spec.name}, {row.run.hardware.name}, {row.run.engine_name}"


def _all_rows() -> Table:
    return Table(
        ["of", "model", "hardware", "engine", "batch", "published", "predicted", "error", "rows", "source"],
        [
            [
                row.run.kind,
                row.run.spec.name,
                row.run.hardware.name,
                row.run.engine_name,
                str(row.run.batch_size),
                seconds(row.run.seconds),
                seconds(row.predicted_s),
                off(row),
                "held back" if row.is_held_back else "fitted to",
                row.run.source,
            ]
            for row in sorted(predictions(), key=lambda row: row.error, reverse=True)
        ],
    )
