"""A recorded trace behind a generation's methods: nothing is computed, every step is shown as it was."""

from inference.trace import Step, StopReason, Trace


class Replay:
    """Reveals a recorded trace step by step. There is no model behind it, so it cannot fork."""

    def __init__(self, recorded: Trace, *, shown: int = 0) -> None:
        self.recorded = recorded
        self._shown = shown

    @property
    def trace(self) -> Trace:
        """The steps revealed so far."""
        return self.recorded.until(self._shown - 1)

    @property
    def finished(self) -> bool:
        return self._shown == len(self.recorded.steps)

    @property
    def stop_reason(self) -> StopReason | None:
        return self.trace.stop_reason

    def prefill(self, *, queue_s: float = 0.0) -> Step:
        if self._shown:
            raise RuntimeError("prefill has been shown; call decode() for the next token")
        return self._reveal()

    def decode(self, *, queue_s: float = 0.0) -> Step:
        if not self._shown:
            raise RuntimeError("nothing is shown yet; call prefill() before decode()")
        if self.finished:
            raise RuntimeError(
                f"the recording ends here ({self.recorded.stop_reason}); run your own prompt to go on"
            )
        return self._reveal()

    def rewind(self, index: int) -> None:
        if not 0 <= index < self._shown:
            raise ValueError(f"step {index} is not shown; steps 0 to {self._shown - 1} are")
        self._shown = index + 1

    def fork(self, token_id: int) -> Step:
        raise RuntimeError("a recording cannot take another token; run the prompt on the model to fork")

    def _reveal(self) -> Step:
        self._shown += 1
        return self.recorded.steps[self._shown - 1]
