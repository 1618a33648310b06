"""Run all benchmarks, or the named ones; print one table and put it into results.json, benchmark by benchmark."""

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks import floor, instrument, memory, optimisations, planner, prediction, redraw
from benchmarks.browser import charts, first_paint, planner_page
from benchmarks.learners import answering, learners
from benchmarks.machine import cpu_seconds, machine
from benchmarks.measurement import table

_RESULTS = Path(__file__).with_name("results.json")
_BENCHMARKS = {
    "answering": answering.run,
    "instrument": instrument.run,
    "floor": floor.run,
    "memory": memory.run,
    "charts": charts.run,
    "first_paint": first_paint.run,
    "learners": learners.run,
    "optimisations": optimisations.run,
    "planner": planner.run,
    "planner_page": planner_page.run,
    "prediction": prediction.run,
    "redraw": redraw.run,
}


def main(names: list[str]) -> int:
    """The exit status: 1 if anything is beyond its limit."""
    unknown = [name for name in names if name not in _BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(_BENCHMARKS)}", file=sys.stderr)
        return 2
    measurements, results = [], json.loads(_RESULTS.read_text()) if names and _RESULTS.exists() else {}
    for name in names or _BENCHMARKS:
        print(f"{name} ...", end=" ", flush=True)
        where, start, (ours_s, all_s) = machine(), time.monotonic(), cpu_seconds()
        rows = _BENCHMARKS[name]()
        seconds, (ours_now_s, all_now_s) = time.monotonic() - start, cpu_seconds()
        others_s = all_now_s - all_s - (ours_now_s - ours_s)
        share = round(max(others_s, 0.0) / seconds / (os.cpu_count() or 1), 3)
        print(f"{seconds:.0f} s; other programs had {share:.0%} of the processor", flush=True)
        written = [{**asdict(row), "verdict": row.verdict} for row in rows]
        results[name] = {"machine": where, "share_of_other_programs": share, "measurements": written}
        measurements += rows
    _RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print("\n" + table(measurements))
    return int(any(row.verdict in ("over", "under") for row in measurements))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
