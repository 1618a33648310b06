"""What one browser tab looks at, and what its main screen draws."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.planner.efficiency import Efficiency
from inference.run.recipe import Recipe
from inference.run.replay import Replay
from inference.trace import Trace
from quizzes import Answer


@dataclass(slots=True)
class Tab:
    shown: int | None = None
    """Index of the step on the screen; None follows the newest."""
    is_playing: bool = False
    link: Recipe | None = None
    """What a link asked to run, until the model is there."""
    target: int = 0
    """Steps a link still wants run without pause; 0 for none."""
    pending: "Future[Any] | None" = None
    pending_since_s: float = 0.0
    message: str = ""
    opened: Trace | None = None
    """A trace from a file, shown in place of the run."""
    answers: dict[str, Answer] = field(default_factory=dict)
    browser: str = ""
    """The random name of the browser it is open in."""
    key: str = ""
    """The learner's; empty until it is asked for."""
    class_code: str = ""
    """Of the class whose link was opened."""
    is_in_lesson: bool = False
    """Whether the page is a lesson: to read on is what comes next there, not its many measurements."""
    is_class_paused: bool = False
    """Whether the teacher's page has stopped asking for new answers by itself."""
    num_forgotten: int | None = None
    """How often this browser's learner had been forgotten when it was last asked; None: not asked yet."""
    review: tuple[str, ...] = ()
    """The questions of the review under way."""
    review_place: int = 0
    replay: Replay | None = None
    """The recording on Start here."""
    stamp: int = 0
    predicting: str = ""
    """The prediction whose view was drawn last."""
    shown_outcomes: set[str] = field(default_factory=set)
    """Predictions whose outcome the learner wanted to see without a guess."""
    problems: dict[str, str] = field(default_factory=dict)
    """Why a measurement was refused, by its name; gone when it is asked for again."""
    query: dict[str, str] = field(default_factory=dict)
    """The address's parameters, until the page they are for has read them. Untrusted."""
    view: str = ""
    """The view that the address named as the tab was opened, until a page with views has read it."""
    plan_spec: ModelSpec | None = None
    """The model that a link to the planner brought in numbers."""
    plan_machine: tuple[Hardware, Efficiency] | None = None
    """A measured machine that it brought, with its shares."""
    plan_preset: int = 0
    """Which list of presets is on the screen: a new one each time lengths stop being a preset's."""
    plan_problems: tuple[str, ...] = ()
    """What such a link asked for in vain."""
    drawn: dict[str, tuple[object, Any]] = field(default_factory=dict)
    """What each chart was last given, with the version it was made for."""


@dataclass(frozen=True, slots=True)
class Screen:
    """All that the main screen draws."""

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
