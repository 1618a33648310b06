"""What the learner can do: the callbacks. They change the tab and hand jobs to the worker; pages only draw.

`shown` is the step the learner saw when they pressed: a press that arrives twice, or late, does nothing.
"""

from typing import Any

from inference.jobs.experiments import Job
from inference.jobs.worker import BusyError
from inference.run.replay import Replay
from inference.trace import Trace
from pages.ui import state
from pages.ui.form import CHAT_EXAMPLES, EXAMPLES
from pages.ui.learner import saved
from pages.ui.pending import submit
from pages.ui.screen import sentence
from pages.ui.tab import RunView


def prefill() -> None:
    here = _begin()
    here.link = None
    runs = state.laboratory().runs
    if here.pending is not None:
        return
    if runs is None:
        status = state.laboratory().status
        why = "The model is still loading." if status.state == "loading" else sentence(status.sentence)
        here.message = f"{why} A recorded run can be watched on Start here meanwhile."
    elif submit(here, lambda: runs.start(state.learner(), state.form())):
        here.shown, here.opened, here.is_playing, here.target = None, None, False, 0


def next_token(shown: int) -> None:
    """Show the next recorded step, or decode one more; changed settings continue differently from here."""
    here = _begin()
    run, runs = state.live_run(), state.laboratory().runs
    trace = here.opened or (run.trace if run else None)
    last = len(trace.steps) - 1 if trace else -1
    if trace is None or here.pending is not None or shown != (last if here.shown is None else here.shown):
        return
    if here.opened or run is None or runs is None:
        here.shown = min(shown + 1, last)
        return
    try:
        params = state.form().params
    except ValueError as error:
        here.message, here.is_playing = sentence(error), False
        return
    is_changed = not here.target and params != trace.params_at(shown + 1)
    if shown < last and not is_changed:
        here.shown = shown + 1
    elif shown < last:
        if submit(here, lambda: runs.branch(state.learner(), last + 1, index=shown, params=params)):
            here.shown = None
    elif trace.stop_reason is None:
        new = params if is_changed else None
        submit(here, lambda: runs.advance(state.learner(), last + 1, params=new))


def step_back(shown: int) -> None:
    _look_at(shown - 1)


def first_step() -> None:
    _look_at(0)


def look_at_picked(key: str) -> None:
    """The slider was moved, or a token or a bar clicked."""
    index = state.told_index(key, "picked")
    if index is not None:
        _look_at(index)


def toggle_play(shown: int) -> None:
    here = _begin()
    here.is_playing, here.target = not here.is_playing, 0
    if here.is_playing:
        next_token(shown)


def tick(key: str) -> None:
    """The clock: the last step is on the screen, or it is time to look at a waiting pass again."""
    here = state.tab().run
    shown = state.told_index(key, "ticked", "expected")
    if here.is_playing and here.pending is None and shown is not None:
        next_token(shown)


def reset() -> None:
    """Put the run aside; with a file open, only close the file."""
    here, runs, name = _begin(), state.laboratory().runs, state.learner()
    if here.opened is None and runs is not None:
        old = runs.get(name)
        runs.put_aside(name)
        if here.pending is not None and not here.pending.cancel():  # the prefill in hand would put its run there
            here.pending.add_done_callback(lambda _: None if runs.get(name) is old else runs.put_aside(name))
    here.shown, here.is_playing, here.target, here.pending, here.opened = None, False, 0, None, None
    here.link = None


def undo_reset() -> None:
    here, runs = _begin(), state.laboratory().runs
    if runs is not None:
        runs.bring_back(state.learner())
    here.shown = None


def force(key: str) -> None:
    """A candidate was chosen: fork from the step on the screen."""
    here, run, runs, report = _begin(), state.live_run(), state.laboratory().runs, state.told(key, "picked")
    token_id = state.told_index(key, "picked")
    if run is None or runs is None or here.opened or here.pending or token_id is None:
        return
    steps = run.trace.steps
    index = len(steps) - 1 if here.shown is None else min(here.shown, len(steps) - 1)
    if report.get("expected") != index or steps[index].token_id == token_id:
        return
    here.is_playing = False
    if submit(here, lambda: runs.branch(state.learner(), len(steps), index=index, token_id=token_id)):
        here.shown = None


def choose_example(name: str) -> None:
    _begin().link = None
    engine = state.laboratory().engine
    has_template = engine is None or engine.is_chat_model
    state.set_prompt(EXAMPLES[name], chat_template=name in CHAT_EXAMPLES and has_template)


def open_trace(key: str) -> None:
    """A trace file was chosen, or taken away."""
    here, content = _begin(), state.uploaded(key)
    if content is None:
        here.opened = None
        return
    try:
        trace = Trace.from_json(content)
    except ValueError as error:
        here.message = f"This file cannot be opened: {sentence(error)}"
        return
    here.opened, here.shown, here.is_playing = trace, None, False
    here.link = None
    here.message = "A recorded trace is open. Reset goes back to your own run."


def start_replay() -> Replay:
    drawing = state.tab().drawing
    if drawing.replay is None:
        drawing.replay = Replay(state.recorded(state.START_RECORDING), 1)
    return drawing.replay


def replay_tick(key: str) -> None:
    report, replay = state.told(key, "ticked"), start_replay()
    if report.get("isCalm") is True:  # reduced motion: the result, without the show
        state.tab().drawing.replay = Replay(replay.recorded, len(replay.recorded.steps))
    elif not replay.finished and report.get("expected") == len(replay.trace.steps):
        replay.reveal()


def replay_again() -> None:
    state.tab().drawing.replay = None


def retry_model() -> None:
    state.laboratory().retry()


def measure_again() -> None:
    state.laboratory().measure_ceilings()


def guess(prediction_id: str) -> None:
    """The learner predicted; taking the choice away again keeps the first one."""
    value = state.widget_value(f"predict-{prediction_id}")
    if isinstance(value, str):
        saved.keep_lab_guess(prediction_id, value)


def show_outcome(prediction_id: str) -> None:
    """The learner wants to see what is known, without a guess."""
    state.tab().answering.shown_outcomes.add(prediction_id)


def start_measuring(job: Job[Any]) -> None:
    here, experiments = state.tab(), state.laboratory().experiments
    here.problems.pop(job.name, None)
    here.answering.shown_outcomes.add(here.answering.predicting)  # who measures wants to see what comes of it
    if experiments is None:
        return
    try:
        experiments.start(job, state.learner())
    except (BusyError, ValueError) as error:
        here.problems[job.name] = sentence(error)


def cancel_measuring(job: Job[Any]) -> None:
    here, experiments = state.tab(), state.laboratory().experiments
    if experiments is not None and not experiments.cancel(job, state.learner()):
        here.problems[job.name] = "Another learner waits for this measurement too: it goes on."


def _begin() -> RunView:
    """What the tab looks at, with the last message taken away: it belonged to the last action."""
    here = state.tab().run
    here.message = ""
    return here


def _look_at(index: int) -> None:
    here = _begin()
    here.is_playing, here.target, here.shown = False, 0, max(index, 0)
