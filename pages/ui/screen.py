"""All that the main screen draws."""

from dataclasses import dataclass

from inference.trace import Trace


@dataclass(frozen=True, slots=True)
class Screen:
    """At one moment."""

    trace: Trace | None
    """The whole run."""
    shown: int
    """Index of the step looked at; -1 before prefill."""
    is_recorded: bool
    is_busy: bool
    is_playing: bool
    is_running: bool
    """The pass waited for is being run now."""
    is_settling: bool
    """The model or the roofs will soon have something new to say."""
    queue_position: int
    waiting_s: float
    message: str
    unlike: tuple[str, ...]
    """What the form says otherwise than the run, and Next token cannot take up: "the prompt"."""
    can_undo: bool
    """Whether a run was reset that can be brought back."""
    branches: tuple[Trace, ...]

    @property
    def at(self) -> Trace | None:
        """The run as it stood at the step looked at."""
        return self.trace.until(self.shown) if self.trace and self.shown >= 0 else None

    @property
    def version(self) -> object:
        """Changes whenever the charts must: another step, another token in its place, or the roofs."""
        return (self.at.steps[-1], self.at.metadata.date, self.at.ceilings) if self.at else None

    @property
    def is_newest(self) -> bool:
        return self.trace is None or self.shown == len(self.trace.steps) - 1

    @property
    def can_go_on(self) -> bool:
        """Whether Next token has something to do: a step already recorded, or one more to decode."""
        if self.trace is None or self.shown < 0:
            return False
        return not self.is_newest or (self.trace.stop_reason is None and not self.is_recorded)


def sentence(problem: object) -> str:
    """An error's text as a sentence of its own."""
    text = str(problem)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
