"""A pass on its way: handed to the worker, waited for, taken in; and what is to be drawn meanwhile."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any

from inference.arithmetic.roofline import share_of_roof
from inference.jobs.worker import BusyError
from inference.trace import Trace
from pages.charts.run.run import step_work
from pages.ui import state
from pages.ui.screen import Screen, sentence
from pages.ui.tab import RunView

log = logging.getLogger(__name__)
PATIENCE_S = 1.5  # a page waits this long for a pass; after that it draws the wait and asks again
_POLL_S = 0.3
_SETTLING_S = 1.0  # how often a page asks for the model's or the roofs' progress


def take_in() -> None:
    """Before the main screen is drawn: what the worker has finished, a link asks for, or has come to its end."""
    here = state.tab().run
    _start_link(here)
    _settle(here)
    trace = _trace(here)
    if trace is not None and not here.opened:
        _meet_the_roofs(trace)
    last = len(trace.steps) - 1 if trace else -1
    if here.shown is not None and here.shown >= last:
        here.shown = None
    is_whole = trace is None or trace.stop_reason is not None or here.opened is not None
    has_ended = is_whole and here.shown is None
    if here.pending is None and (has_ended or (here.target and last + 1 >= here.target)):
        here.is_playing, here.target = False, 0


def screen() -> Screen:
    """What is to be drawn."""
    here, run, lab = state.tab().run, state.live_run(), state.laboratory()
    trace = _trace(here)
    message = here.message
    if not message and run and run.released and not here.opened:
        message = (
            f"This run's KV cache was given up {run.released}; the next token first rebuilds it from the token ids."
        )
    return Screen(
        trace=trace,
        shown=here.shown if here.shown is not None else len(trace.steps) - 1 if trace else -1,
        is_recorded=here.opened is not None,
        is_busy=here.pending is not None,
        is_playing=here.is_playing,
        is_running=here.pending is not None and here.pending.running(),
        is_settling=lab.is_settling and not here.opened,
        queue_position=lab.position(here.pending) if here.pending else 0,
        waiting_s=time.monotonic() - here.pending_since_s if here.pending else 0.0,
        message=message,
        unlike=() if here.opened or trace is None else state.unlike_form(trace),
        can_undo=bool(lab.runs and lab.runs.is_aside(state.learner()) and not here.opened),
        branches=tuple(run.branches) if run and not here.opened else (),
    )


def _trace(here: RunView) -> Trace | None:
    """The file that was opened, or the learner's run with the roofs as they are now."""
    run = state.live_run()
    return here.opened or (replace(run.trace, ceilings=state.laboratory().ceilings) if run else None)


def _meet_the_roofs(trace: Trace) -> None:
    """A pass that beat this machine's roofs says that they were measured too low."""
    if trace.ceilings and trace.steps:
        newest = trace.steps[-1]
        share = share_of_roof(step_work(trace, newest), newest.forward_s, trace.ceilings)
        state.laboratory().doubt_ceilings(share)


def tick_after_s() -> float:
    here = state.tab().run
    if here.pending is not None:
        return _POLL_S
    if not here.is_playing:
        return _SETTLING_S
    return 0.0 if here.target else state.pause_between_passes_s()


def submit(here: RunView, start: Callable[[], "Future[Any]"]) -> bool:
    """Hand a job to the worker, or say why it was refused."""
    try:
        here.pending, here.pending_since_s = start(), time.monotonic()
    except (BusyError, ValueError) as error:
        here.message, here.is_playing = sentence(error), False
        return False
    return True


def _settle(here: RunView) -> None:
    if here.pending is None:
        return
    try:
        error = here.pending.exception(timeout=PATIENCE_S)
    except TimeoutError:
        return
    except CancelledError:
        error = RuntimeError("the pass was cancelled")
    here.pending = None
    if error is None:
        return
    here.is_playing = False
    if isinstance(error, (ValueError, RuntimeError)):
        here.message = sentence(error)
    else:
        log.error("A pass failed", exc_info=error)
        here.message = f"The pass failed ({type(error).__name__}); your run is kept. Press again, or Reset."


def _start_link(here: RunView) -> None:
    """Run what a link asked for, as soon as the model is there."""
    recipe, lab = here.link, state.laboratory()
    runs, engine = lab.runs, lab.engine
    if recipe is None or runs is None or engine is None:
        return
    here.link = None
    if submit(here, lambda: runs.start(state.learner(), recipe)):
        here.target, here.is_playing, here.shown = recipe.num_steps, recipe.num_steps > 1, None
        if recipe.model not in ("", engine.name):
            here.message += f" This link was made with {recipe.model}; here {engine.name} answers."
