"""How far the model is from being ready, in words and time."""

import time
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ModelStatus:
    state: Literal["loading", "ready", "failed"]
    sentence: str
    fraction: float | None = None
    """Of the present part of the work; None where it cannot be known."""
    started_s: float = 0.0
    """On the monotonic clock."""
    part_started_s: float = 0.0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    @property
    def left_s(self) -> float | None:
        """Seconds the present part still needs if it goes on as it has; None where that cannot be said."""
        if self.state != "loading" or not self.fraction:
            return None
        return (time.monotonic() - self.part_started_s) * (1 - self.fraction) / self.fraction
