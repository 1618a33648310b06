"""A sweep as CSV: one line per pass, warm-ups among them, with the estimate it is compared with."""

import csv
import io

from inference.machine.sweeps import Sweep, SweepPoint
from inference.run.trace_io import harmless_cell

COLUMNS = (
    *("arm", "phase", "num_query_tokens", "context_len", "batch_size", "pass", "is_warm_up", "forward_s"),
    *("median_s", "lower_quartile_s", "upper_quartile_s", "flops_estimated", "bytes_estimated"),
    *("model", "dtype", "device", "threads", "torch", "date"),
)


def to_csv(sweep: Sweep) -> str:
    """Every pass that was timed; the statistics of its setting are repeated on each of its lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    about = (
        harmless_cell(sweep.spec.name),
        sweep.dtype,
        harmless_cell(sweep.device),
        sweep.threads,
        sweep.torch_version,
    )
    for point in sweep.points:
        for place, (is_warm_up, seconds) in enumerate(_passes(point)):
            writer.writerow(
                (*_setting(point), place, is_warm_up, seconds, *_numbers(sweep, point), *about, sweep.date)
            )
    return text.getvalue()


def _passes(point: SweepPoint) -> list[tuple[bool, float]]:
    return [(True, seconds) for seconds in point.warm_up_s] + [(False, seconds) for seconds in point.times_s]


def _setting(point: SweepPoint) -> tuple[str | int, ...]:
    setting = point.setting
    return (setting.arm, setting.phase, setting.num_query_tokens, setting.context_len, setting.batch_size)


def _numbers(sweep: Sweep, point: SweepPoint) -> tuple[float, ...]:
    work = point.setting.work(sweep.spec)
    return (point.median_s, point.lower_s, point.upper_s, work.flops, work.bytes)
