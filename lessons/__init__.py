"""What is taught: lessons, and the recorded runs that can be watched without a model."""

from pathlib import Path

from inference.trace import Trace

_TRACES = Path(__file__).parent / "traces"


def load_trace(name: str) -> Trace:
    """A recorded run of `lessons/traces`, by its file name without the ending."""
    return Trace.from_json((_TRACES / f"{name}.json").read_bytes())
