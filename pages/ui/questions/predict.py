"""A prediction: the learner commits a number, the model runs their prompt, and the two stand side by side."""

from collections.abc import Callable

import streamlit as st

from inference.arithmetic.units import seconds
from inference.jobs.experiments import Experiment, Job
from inference.jobs.predicted_run import NUM_TOKENS, predicted_run
from inference.trace import Trace
from pages.charts.run.run import latency_per_pass
from pages.charts.tokens import visible
from pages.ui import actions, state
from pages.ui.form import EXAMPLES
from pages.ui.parts.clock import clock
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.measurement import known
from pages.ui.questions.verdict import verdict
from pages.ui.questions.worded import labelled, line
from quizzes import Answer, PredictQuestion

_LOOK_AGAIN_S = 0.4
RECORDED = "lighthouse"
_EARLIER = {None: "", True: " on an earlier visit, and it was right", False: " on an earlier visit, and it was off"}


def show_prediction(
    question: PredictQuestion,
    *,
    guess: str | None,
    answer: Answer | None,
    on_commit: Callable[[str], None],
    on_recorded: Callable[[str], None],
    problem: str,
    before: bool | None = None,
) -> None:
    """before: whether this guess was right on an earlier visit, whose run is gone; None if there was none."""
    asked = question.asked("")
    with framed(question.id):
        st.markdown(f"**Predict first.** {asked.prompt}")
        prompt = st.text_area("Prompt of the run", EXAMPLES["The lighthouse"], key=_prompt_key(question), height=88)
        line(asked, labelled("Your prediction", asked.unit), "Commit", before=guess or "", on_click=on_commit)
        if problem:
            st.text(problem)
        if guess is None:
            return
        lab, job = state.laboratory(), predicted_run(prompt)
        if lab.experiments is None:
            st.text(f"You predicted {guess}. {lab.status.sentence}.")
            st.button(
                "Take a recorded run instead",
                key=f"recorded-{question.id}",
                on_click=on_recorded,
                args=(question.id,),
            )
            trace = state.recorded(RECORDED) if answer else None
        else:
            trace = _run_line(question, f"You predicted {guess}{_EARLIER[before]}.", job, known(job))
        if trace:
            _show_run(trace, question.id)
        if answer:
            verdict(answer.grade)


def prompt_of(question: PredictQuestion) -> str:
    """What its run is asked, also before the question is drawn."""
    typed = state.widget_value(_prompt_key(question))
    return typed if isinstance(typed, str) else EXAMPLES["The lighthouse"]


def _prompt_key(question: PredictQuestion) -> str:
    return f"prompt-{question.id}"


def _run_line(question: PredictQuestion, said: str, job: Job[Trace], run: Experiment[Trace] | None) -> Trace | None:
    is_running = bool(run and run.is_running)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"run-{question.id}-measure"):
        # one button of one type throughout: the keyboard's focus stays on it; while it runs, pressing does nothing
        st.button(
            "Running" if is_running else "Run again" if run else "Run",
            key=f"run-{question.id}",
            on_click=actions.start_measuring,
            args=(job,),
        )
        if run and is_running:
            st.button("Cancel", key=f"cancel-{question.id}", on_click=actions.cancel_measuring, args=(job,))
            with st.container(key=f"run-{question.id}-progress"):
                st.progress(min(run.report.fraction, 1.0), run.report.doing or "waiting for its turn")
        else:
            why = state.tab().problems.get(job.name) or (run.problem if run else "")
            st.text(why or f"{said} The run: this prompt, up to {NUM_TOKENS} tokens, greedy.")
    clock(
        is_running=is_running,
        expected=0,
        delay_s=_LOOK_AGAIN_S,
        key=f"{question.id}-clock",
        on_tick=lambda key: None,
    )
    if run is None:
        return None
    return run.report.partial if is_running else run.result


def _show_run(trace: Trace, question_id: str) -> None:
    live_chart(
        lambda: latency_per_pass(trace),
        version=(trace.metadata.date, len(trace.steps)),
        key=f"predicted-{question_id}",
        title="Every pass of this run",
        caption=f"prefill: {len(trace.prompt_tokens)} tokens at once; decode: one a pass",
        alt="Bars of the measured time of every pass: first prefill, then decode.",
        table=lambda: Table(
            ["step", "phase", "token", "pass"],
            [[str(step.number), step.phase, visible(step.raw), seconds(step.forward_s)] for step in trace.steps],
        ),
    )
    st.text(trace.text)
