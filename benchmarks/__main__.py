"""Run all benchmarks, or those named, print one table and write results.json: `python -m benchmarks [NAME...]`."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks import charts, first_paint, floor, instrument, learners, memory
from benchmarks.machine import machine
from benchmarks.measurement import table

_RESULTS = Path(__file__).with_name("results.json")
_BENCHMARKS = {
    "instrument": instrument.run,
    "floor": floor.run,
    "memory": memory.run,
    "charts": charts.run,
    "first_paint": first_paint.run,
    "learners": learners.run,
}


def main(names: list[str]) -> int:
    """The exit status: 1 if anything is over its limit."""
    unknown = [name for name in names if name not in _BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(_BENCHMARKS)}", file=sys.stderr)
        return 2
    where = machine()
    measurements = []
    for name in names or _BENCHMARKS:
        start = time.monotonic()
        print(f"{name} ...", end=" ", flush=True)
        measurements += _BENCHMARKS[name]()
        print(f"{time.monotonic() - start:.0f} s", flush=True)
    rows = [{**asdict(row), "verdict": row.verdict} for row in measurements]
    _RESULTS.write_text(json.dumps({"machine": where, "measurements": rows}, indent=1) + "\n")
    print("\n" + table(measurements))
    return int(any(row.verdict == "over" for row in measurements))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
