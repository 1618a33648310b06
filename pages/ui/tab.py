"""What one browser tab holds, by concern; what it shares with others is the worker's or the database's."""

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
class RunView:
    """How the main screen looks at a run."""

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


@dataclass(slots=True)
class Answering:
    """What the learner has answered here, and may see."""

    answers: dict[str, Answer] = field(default_factory=dict)
    review: tuple[str, ...] = ()
    """The questions of the review under way."""
    review_place: int = 0
    predicting: str = ""
    """The prediction whose view was drawn last."""
    shown_outcomes: set[str] = field(default_factory=set)
    """Predictions whose outcome the learner wanted to see without a guess."""


@dataclass(slots=True)
class ClassView:
    code: str = ""
    """Of the class whose link was opened."""
    is_paused: bool = False
    """Whether the teacher's page has stopped asking for new answers by itself."""


@dataclass(slots=True)
class LinkedPlan:
    """What a link to the planner brought in numbers."""

    spec: ModelSpec | None = None
    machine: tuple[Hardware, Efficiency] | None = None
    """A measured machine, with its shares."""
    preset: int = 0
    """Which list of presets is on the screen: a new one each time lengths stop being a preset's."""
    problems: tuple[str, ...] = ()
    """What the link asked for in vain."""


@dataclass(slots=True)
class Drawing:
    """What drawing the page needs to know of the page and of earlier drawings."""

    is_in_lesson: bool = False
    """Whether the page is a lesson: to read on is what comes next there, not its many measurements."""
    query: dict[str, str] = field(default_factory=dict)
    """The address's parameters, until the page they are for has read them. Untrusted."""
    view: str = ""
    """The view that the address named as the tab was opened, until a page with views has read it."""
    replay: Replay | None = None
    """The recording on Start here."""
    stamp: int = 0
    remembered: dict[str, tuple[object, Any]] = field(default_factory=dict)
    """What each chart was last given, with the version it was made for."""


@dataclass(slots=True)
class Tab:
    browser: str = ""
    """The random name of the browser it is open in."""
    key: str = ""
    """The learner's; empty until it is asked for."""
    num_forgotten: int | None = None
    """How often this browser's learner had been forgotten when it was last asked; None: not asked yet."""
    problems: dict[str, str] = field(default_factory=dict)
    """Why something was refused, by the name of what was asked for; gone when it is asked for again."""
    run: RunView = field(default_factory=RunView)
    answering: Answering = field(default_factory=Answering)
    classroom: ClassView = field(default_factory=ClassView)
    plan: LinkedPlan = field(default_factory=LinkedPlan)
    drawing: Drawing = field(default_factory=Drawing)
