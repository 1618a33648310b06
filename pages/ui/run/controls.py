"""What the learner sets and presses: the prompt, the sampling, the step buttons, the export menu."""

from collections.abc import Sequence

import streamlit as st

from inference.arithmetic.units import percent
from inference.run.recipe import LONGEST_LINK, Recipe, to_code
from inference.run.trace_io import to_csv, to_perfetto
from inference.trace import Trace
from pages.ui import actions, state
from pages.ui.form import EXAMPLES, ORDERS, SPEEDS
from pages.ui.parts.step_slider import step_slider
from pages.ui.screen import Screen, sentence


def prompt_form(screen: Screen) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area("Prompt", key="prompt", height=68, width="stretch")
        with st.container(width=150, gap="xsmall"):
            with st.popover("Examples", width="stretch"):
                for name in EXAMPLES:
                    st.button(
                        name,
                        key=f"example-{name}",
                        on_click=actions.choose_example,
                        args=(name,),
                        width="stretch",
                    )
            with st.popover("Sampling", width="stretch"):
                _sampling()


def _sampling() -> None:
    st.number_input("Temperature (0 is greedy)", 0.0, 10_000.0, step=0.1, key="temperature")
    st.number_input("Top-k (0 keeps all)", 0, None, step=1, key="top_k")
    st.number_input("Top-p", 0.0, 1.0, step=0.05, key="top_p")
    st.number_input("Min-p", 0.0, 1.0, step=0.01, key="min_p")
    st.number_input("Repetition penalty (1 is none)", 0.01, 100.0, step=0.05, key="repetition_penalty")
    st.text_input("Logit bias", key="logit_bias", placeholder="token id:bias, as 260:5;28:-5")
    st.number_input("Seed", 0, None, step=1, key="seed")
    st.radio("Order", ORDERS, key="order")
    st.number_input("Maximum new tokens", 1, None, step=1, key="max_new_tokens")
    st.text_area("Stop strings, one a line", key="stop", height=68)
    st.toggle("Chat template", key="chat_template")


def controls(screen: Screen) -> None:
    has_run, shown = screen.trace is not None, screen.shown
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="controls"):
        st.button(
            "Prefill",
            key="prefill",
            width=74,
            on_click=actions.prefill,
            disabled=screen.is_busy,
            type="secondary" if screen.can_go_on else "primary",
        )
        st.button(
            "Step back",
            key="back",
            width=114,
            shortcut="Left",
            on_click=actions.step_back,
            args=(shown,),
            disabled=shown < 1,
        )
        st.button(
            "Next token",
            key="next",
            width=120,
            shortcut="Right",
            on_click=actions.next_token,
            args=(shown,),
            type="primary" if screen.can_go_on else "secondary",
            disabled=not screen.can_go_on,
        )
        st.button(
            "Pause" if screen.is_playing else "Play",
            key="play",
            shortcut="Space",
            on_click=actions.toggle_play,
            args=(shown,),
            disabled=not (screen.can_go_on or screen.is_playing),
            width=114,
        )
        st.button("First", key="first", width=104, shortcut="Home", on_click=actions.first_step, disabled=shown < 1)
        st.button(
            "Reset",
            key="reset",
            width=66,
            on_click=actions.reset,
            disabled=not (has_run or screen.is_busy),
        )
        export_menu(screen)
        with st.container(key="place", width=116):
            st.text(_place(screen))
    with st.container(horizontal=True, vertical_alignment="center", key="scrub"):
        _slider(screen)
        st.select_slider("Speed", list(SPEEDS), key="speed", width=130, label_visibility="collapsed")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="status"):
        st.text(_status(screen))
        if screen.can_undo:
            st.button("Undo reset", key="undo", type="tertiary", on_click=actions.undo_reset)


def _slider(screen: Screen) -> None:
    step_slider(
        number=max(screen.shown + 1, 1),
        maximum=screen.trace.metadata.max_new_tokens if screen.trace else 64,
        is_disabled=screen.trace is None,
        key="step",
        on_pick=actions.look_at_picked,
    )


def _place(screen: Screen) -> str:
    trace = screen.trace
    return f"step {screen.shown + 1} of {trace.metadata.max_new_tokens}" if trace else "no step yet"


def _status(screen: Screen) -> str:
    if screen.message:
        return screen.message
    trace = screen.trace
    if screen.is_busy and screen.waiting_s > 1:
        ahead = "running now" if screen.is_running else f"{screen.queue_position + 1} ahead in the queue"
        return f"Waiting {screen.waiting_s:.0f} s for this pass: {ahead}."
    if trace is None:
        return "The run was reset. Prefill begins a new one." if screen.can_undo else _model_words()
    decodes = screen.shown
    parts = [changed(screen.unlike)] if screen.unlike else []
    parts += [f"1 prefill, {decodes} decode{'s' * (decodes != 1)}"]
    parts.append(f"{trace.steps[screen.shown].context_len:,} tokens in the cache")
    if num := trace.metadata.num_left_out:
        have = "character has" if num == 1 else "characters have"
        parts.append(f"{num:,} {have} no token and {'is' if num == 1 else 'are'} left out")
    if screen.is_newest and trace.stop_reason:
        parts.append(f"stopped: {_STOPS[trace.stop_reason]}")
    return " · ".join(parts)


def changed(parts: Sequence[str]) -> str:
    """That Next token goes on with the old ones."""
    words = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    is_one = len(parts) == 1 and not words.endswith("strings")
    return sentence(f"{words} {'has' if is_one else 'have'} changed: Prefill starts {'it' if is_one else 'them'}")


_STOPS = {
    "end token": "the model gave its end token",
    "stop string": "a stop string was reached",
    "maximum": "the maximum was reached",
    "context full": "the model's context is full",
}


def _model_words() -> str:
    status = state.laboratory().status
    if status.state == "ready":
        return "Prefill runs the whole prompt in one pass and yields the first token."
    if status.state == "failed":
        return status.sentence
    done = f": {percent(status.fraction)}" if status.fraction else ""
    left = f", about {status.left_s:.0f} s left" if status.left_s else ""
    return f"{status.sentence}{done}, after {status.elapsed_s:.0f} s{left}"


def export_menu(screen: Screen) -> None:
    trace = screen.at
    with st.popover("Export", key="export", width=88):
        if trace is None:
            st.caption("Run a prompt first, or open a trace that was exported as JSON.")
        else:
            _downloads(trace)
        st.file_uploader(
            "Open a trace", type="json", key="trace_file", on_change=actions.open_trace, args=("trace_file",)
        )


def _downloads(trace: Trace) -> None:
    files = {
        "JSON (opens again here)": ("trace.json", trace.to_json, "application/json"),
        "CSV (one line per step)": ("trace.csv", lambda: to_csv(trace), "text/csv"),
        "Perfetto timeline": ("trace.perfetto.json", lambda: to_perfetto(trace), "application/json"),
    }
    for label, (name, write, mime) in files.items():
        st.download_button(label, write, name, mime, key=f"download-{name}", on_click="ignore", width="stretch")
    query = Recipe.of(trace).to_query()
    st.caption("A link that reproduces this run")
    if len(query) <= LONGEST_LINK:
        st.code(f"{state.page_address()}?{query}", language=None, wrap_lines=True)
    else:
        st.caption("The prompt is too long for a link; export JSON.")
    st.caption("The same with plain transformers")
    st.code(to_code(trace), language=None, wrap_lines=True)
