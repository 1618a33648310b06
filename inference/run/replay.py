"""A recorded trace revealed step by step: nothing is computed, every step is shown as it was."""

from dataclasses import dataclass

from inference.trace import Trace


@dataclass(slots=True)
class Replay:
    recorded: Trace
    num_shown: int

    @property
    def trace(self) -> Trace:
        """The steps revealed so far."""
        return self.recorded.until(self.num_shown - 1)

    @property
    def finished(self) -> bool:
        return self.num_shown == len(self.recorded.steps)

    def reveal(self) -> None:
        """Show the next step."""
        if self.finished:
            raise RuntimeError(
                f"the recording ends here ({self.recorded.stop_reason}); run your own prompt to go on"
            )
        self.num_shown += 1
