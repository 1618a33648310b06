"""Asks for a measurement and shows it growing: one line with Measure, progress and Cancel, or its date."""

from concurrent.futures import wait
from typing import TypeVar

import streamlit as st
from pydantic import TypeAdapter

from inference.arithmetic.units import percent
from inference.jobs.experiments import Experiment, Job
from inference.machine.sweep_io import to_csv
from inference.machine.sweeps import Sweep
from pages.ui import actions, state
from pages.ui.parts.clock import clock

T = TypeVar("T")
_LOOK_AGAIN_S = 0.5
_PATIENCE_S = 1.5  # one pass is nearly always done by then; else its progress is drawn


def known(job: Job[T]) -> Experiment[T] | None:
    """The measurement as it stands for this learner: running, ended, or kept from before; None if there is none."""
    experiments = state.laboratory().experiments
    return experiments.get(job, state.learner()) if experiments else None


def measured(job: Job[T]) -> T | None:
    """What a measurement has given, whole or up to where it was cancelled; None while it runs and before."""
    experiment = known(job)
    return experiment.result if experiment else None


def finished(job: Job[T]) -> T | None:
    """What a measurement gave once it had run to its end; None before."""
    experiment = known(job)
    return experiment.result if experiment and experiment.state == "done" else None


def at_once(job: Job[T]) -> T | None:
    """What a single pass gives, asked for at the first look: None where it is not there within a moment."""
    if state.laboratory().experiments is None:
        return None
    if known(job) is None and job.name not in state.tab().problems:
        actions.start_measuring(job)
        started = known(job)
        if started and started.future:
            wait([started.future], _PATIENCE_S)
    return finished(job)


def run_job(job: Job[T], *, key: str, label: str = "Measure") -> T | None:
    """Draw the line of one measurement and give what is known of it: growing while it runs, then the whole.

    Nothing is measured until somebody asks. What was measured on this machine before is there at once.
    """
    experiment = known(job)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-measure"):
        _button(job, experiment, key, label)
        if experiment and experiment.is_running:
            _running(experiment, key)
        else:
            _ended(job, experiment, key)
    clock(
        is_running=bool(experiment and experiment.is_running) or state.laboratory().is_settling,
        expected=0,
        delay_s=_LOOK_AGAIN_S,
        key=f"{key}-clock",
        on_tick=lambda key: None,
    )
    if experiment is None:
        return None
    return experiment.report.partial if experiment.is_running else experiment.result


def _button(job: Job[T], experiment: Experiment[T] | None, key: str, label: str) -> None:
    """One button throughout, so that a keyboard's focus stays where its type does; pressed again, it joins."""
    is_running, has_result = (
        bool(experiment and experiment.is_running),
        bool(experiment and experiment.result is not None),
    )
    is_next = not (is_running or has_result or state.tab().drawing.is_in_lesson)
    st.button(
        f"{label} again" if has_result and not is_running else label,
        key=f"{key}-start",
        on_click=actions.start_measuring,
        args=(job,),
        type="primary" if is_next else "secondary",
        disabled=state.laboratory().experiments is None,
    )


def _running(experiment: Experiment[T], key: str) -> None:
    asked = state.learner() in experiment.askers
    st.button(
        "Cancel",
        key=f"{key}-cancel",
        on_click=actions.cancel_measuring,
        args=(experiment.job,),
        disabled=not asked,
    )
    words = [experiment.report.doing or "waiting for its turn", percent(experiment.report.fraction)]
    if experiment.left_s is not None:
        words.append(f"about {max(round(experiment.left_s), 1)} s left")
    if not asked:
        words.append("asked for by another learner")
    with st.container(key=f"{key}-progress"):
        st.progress(min(experiment.report.fraction, 1.0), " · ".join(words))


def _ended(job: Job[T], experiment: Experiment[T] | None, key: str) -> None:
    if experiment and experiment.result is not None:
        _export(job, experiment.result, key)
    st.text(_words(job, experiment))


def _export(job: Job[T], result: T, key: str) -> None:
    """A sweep as CSV, one line per pass; anything else as JSON: the numbers that are on the screen."""
    if isinstance(result, Sweep):
        content, name, kind = (lambda: to_csv(result)), "sweep.csv", "text/csv"
    else:
        content, name, kind = (lambda: _json(job, result)), "result.json", "application/json"
    st.download_button("Export", content, name, kind, key=f"{key}-export", on_click="ignore")


def _json(job: Job[T], result: T) -> str:
    return TypeAdapter(job.kind).dump_json(result, indent=1).decode()


def _words(job: Job[T], experiment: Experiment[T] | None) -> str:
    lab = state.laboratory()
    if problem := state.tab().problems.get(job.name):
        return problem
    if lab.experiments is None:
        return lab.status.sentence
    if experiment is None:
        return "Not measured on this machine yet." if job.is_kept else ""
    if experiment.state == "failed":
        return experiment.problem[:1].upper() + experiment.problem[1:]
    if experiment.state == "cancelled":
        return "Cancelled: what was measured is kept until the server stops." if experiment.result else "Cancelled."
    sentences = [f"Measured {experiment.measured_on} on this machine."] if job.is_kept else []
    return " ".join([*sentences, *left_out(experiment.result)])


def left_out(result: object) -> tuple[str, ...]:
    """What a measurement says it did not measure; every record that may leave something out calls it the same."""
    sentences: tuple[str, ...] = getattr(result, "left_out", ())
    return sentences
