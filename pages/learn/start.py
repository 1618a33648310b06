"""Start here: a recorded real run replays before any model is loaded, and the way into the lab."""

import streamlit as st

from inference.arithmetic.units import scaled, seconds, significant
from pages.charts.run.run import latency_per_pass
from pages.charts.tokens import visible
from pages.ui import actions, state
from pages.ui.parts.card import Card, Figure, card
from pages.ui.parts.clock import clock
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart
from pages.ui.parts.roofs_text import about_roofs
from pages.ui.parts.token_strip import token_strip

state.laboratory().doubt_ceilings()
replay = actions.start_replay()
trace = replay.trace
recording = replay.recorded
about = recording.metadata

st.title("An LLM answers in two phases", anchor=False)
st.markdown(
    "**Prefill** reads your whole prompt in one pass. **Decode** then writes the answer one token per pass, "
    "and the two are limited by different things."
)
with st.container(horizontal=True, vertical_alignment="center"):
    if st.button("Step through your own", key="own", type="primary"):
        st.switch_page("../lab/step_through.py")
    if st.button("Read the lessons", key="course"):
        st.switch_page("../learn/lessons.py")
    st.button("Replay", key="replay", on_click=actions.replay_again, disabled=not replay.finished)

with framed("replay"):
    token_strip(trace, shown=len(trace.steps) - 1, key="start-strip", on_pick=lambda key: None)
    live_chart(
        lambda: latency_per_pass(trace),
        version=len(trace.steps),
        key="start-latency",
        title="Every pass of this answer",
        caption=f"prefill: {len(trace.prompt_tokens)} tokens at once; decode: one a pass; dashed: estimated floor",
        alt="Bars of the measured time of every pass: prefill first, then the decode steps.",
        table=lambda: Table(
            ["step", "phase", "token", "pass"],
            [[str(step.number), step.phase, visible(step.raw), seconds(step.forward_s)] for step in trace.steps],
        ),
    )
    st.caption(
        f"Recorded {about.date[:10]}: {about.model}, {about.dtype}, {about.threads} threads of an {about.device}, "
        f"{about.execution}, transformers {about.transformers_version}."
    )


was_settling = state.laboratory().is_settling


@st.fragment(run_every=1.0 if was_settling else None)
def machine_card() -> None:
    lab = state.laboratory()
    if was_settling and not lab.is_settling:
        st.rerun()  # the whole page once, which ends the timer
    status, ceilings = lab.status, lab.ceilings
    with framed("machine"):
        words = status.sentence + (f" ({status.elapsed_s:.0f} s)" if status.state == "loading" else "")
        where = ""
        measured: tuple[Figure, ...] = ()
        if ceilings:
            measured = (
                Figure(scaled(ceilings.bandwidth, "B/s"), "read bandwidth, measured"),
                Figure(scaled(ceilings.flops, "FLOP/s"), f"matmul {ceilings.dtype}, measured"),
                Figure(seconds(ceilings.overhead_s), "overhead of a pass, measured"),
                Figure(significant(ceilings.ridge_point), "FLOP per byte at the ridge"),
            )
            where = f"Measured {ceilings.measured_on} on {ceilings.device}, {ceilings.threads} threads. "
            where += about_roofs(ceilings, lab.ceilings_beaten_by)
        is_pressed = False
        machine_words = f"{lab.engine.note} {where}".strip() if lab.engine else where
        card(Card(kicker="This machine", title=words, figures=measured, sentence=machine_words), key="machine")
        if status.state == "failed":
            is_pressed = st.button("Try again", key="retry", on_click=actions.retry_model)
        elif lab.ceilings_fraction is not None:
            st.progress(lab.ceilings_fraction, "Measuring this machine's roofs, between the learners' passes")
        elif status.state == "ready":
            is_pressed = st.button("Measure again", key="measure", on_click=actions.measure_again)
        elif status.fraction is not None:
            st.progress(status.fraction)
        if is_pressed:
            st.rerun()  # the whole page, which starts the timer


machine_card()
clock(
    is_running=not replay.finished,
    expected=len(trace.steps),
    delay_s=trace.steps[-1].forward_s * 2,
    key="start-clock",
    on_tick=actions.replay_tick,
)
