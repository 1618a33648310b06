"""The recorded cases of the diagnosis, by the number a learner sees."""

from functools import cache
from pathlib import Path

from inference.latency.diagnosis import SlowRequest, from_json

_FOLDER = Path(__file__).parents[1] / "traces/diagnosis"


@cache
def load_cases() -> dict[int, SlowRequest]:
    """Read only once: they never change."""
    files = _FOLDER.glob("case-*.json")
    return dict(sorted((int(path.stem.removeprefix("case-")), from_json(path.read_bytes())) for path in files))
