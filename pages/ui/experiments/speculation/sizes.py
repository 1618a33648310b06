"""More drafts a round: tokens per pass by the formula and as they came, and what the longer pass costs."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.estimate import estimate
from inference.arithmetic.units import percent, seconds, significant
from inference.speculation.draft import LOOK_UP, draft_name
from inference.speculation.presets import PRESETS
from inference.speculation.records import Speculated, pass_times
from inference.speculation.sizes import SIZES, sizes_job
from pages.charts.speculation.sizes import times_chart, tokens_chart
from pages.ui import state
from pages.ui.experiments.compared import way
from pages.ui.experiments.speculation.text import sizes_table
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.data_table import table_card
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job


@dataclass(frozen=True, slots=True)
class SizesSettings:
    preset: str = "edit"
    draft: str = LOOK_UP


_DEFAULT = SizesSettings()


def speculation_sizes(settings: SizesSettings = _DEFAULT, *, key: str = "sizes", is_fixed: bool = False) -> None:
    """Tokens per pass and time of a pass side by side; their quotient is the gain, in the table."""
    controls = Controls(key, is_fixed=is_fixed)
    running, drawing = st.container(), st.container()
    with row(key):
        preset = controls.select(
            "Text", list(PRESETS), settings.preset, format_func=lambda name: PRESETS[name].title
        )
        small = draft_name()
        draft = controls.choice("Draft", (LOOK_UP, small), settings.draft) if small else LOOK_UP
    job = sizes_job(preset, draft=draft or LOOK_UP)
    with running:
        by_size = run_job(job, key=key, label="Run every k")
    runs = by_size.runs if by_size else ()
    with drawing:
        left, right = st.columns(2)
        with left:
            _tokens(runs, job.name, key)
        with right:
            _times(runs, job.name, key)
        with st.container(key=f"{key}-words"):
            st.text(words(runs) if len(runs) == len(SIZES) else _UNMEASURED)
        table, marked = sizes_table(runs)
        table_card(table, key=f"{key}-table", title="Gain by number of drafts", caption=_GAIN, marked=marked)


_UNMEASURED = (
    "More drafts can bring more tokens a pass, but never more than acceptance allows; and a longer pass costs "
    "more. The gain is the quotient of the two charts."
)
_GAIN = "Gain: tokens per pass over the time of a pass and its draft, in plain steps. The best is set in bold."


def _tokens(runs: Sequence[Speculated], name: str, key: str) -> None:
    chart_card(
        lambda: tokens_chart(runs),
        version=(name, tuple(runs)),
        key=f"{key}-tokens",
        title="Tokens per pass",
        caption="dashed: (1 − a^(k+1)) / (1 − a), a measured; crosses: with the drafts found",
        alt="Tokens per pass against the number of drafts, measured and expected by the formula.",
        table=lambda: sizes_table(runs)[0],
    )


def _times(runs: Sequence[Speculated], name: str, key: str) -> None:
    estimated_s = _estimated(runs)
    chart_card(
        lambda: times_chart(runs, estimated_s),
        version=(name, tuple(runs), tuple(estimated_s.items())),
        key=f"{key}-times",
        title="Time of a pass",
        caption="median and quartiles of all passes of these runs; plain steps feed one token",
        alt="Time of a pass against the tokens fed, measured and estimated.",
        table=lambda: _times_table(runs, estimated_s),
    )


def _estimated(runs: Sequence[Speculated]) -> dict[int, float]:
    """Seconds by tokens fed, in the middle of the text; none before the roofs are measured."""
    lab = state.laboratory()
    if not runs or lab.engine is None or lab.ceilings is None:
        return {}
    middle = runs[0].num_prompt + len(runs[0].token_ids) // 2
    return {
        fed: estimate(lab.engine.spec, lab.ceilings, num_query_tokens=fed, context_len=middle + fed).total_s
        for fed in pass_times(runs)
    }


def _times_table(runs: Sequence[Speculated], estimated_s: dict[int, float]) -> Table:
    times = pass_times(runs)
    plain = sorted(times[1])[len(times[1]) // 2] if times else 0.0
    rows = []
    for fed, took_s in times.items():
        middle = sorted(took_s)[len(took_s) // 2]
        said = seconds(estimated_s[fed]) if fed in estimated_s else "no roofs yet"
        rows.append([f"{fed}", seconds(middle), f"{significant(middle / plain)} times", said, f"{len(took_s):,}"])
    return Table(["tokens fed", "median, measured", "over a plain step", "estimated", "passes"], rows)


def words(runs: Sequence[Speculated]) -> str:
    """The best k, and why more or fewer are worse."""
    best, longest = max(runs, key=lambda run: run.gain), runs[-1]
    sentences = [_best(best)]
    sentences.append(
        f"With k = {longest.request.num_drafted} a pass costs {significant(longest.pass_cost)} plain steps on "
        f"average and yields {significant(longest.tokens_per_pass)} tokens"
    )
    without = sum(not round_.drafted for round_ in longest.rounds)
    fullest = max(round_.num_fed for round_ in longest.rounds)
    if without:
        sentences[-1] += (
            f": {without} of its {len(longest.rounds)} rounds found nothing to draft and cost a plain step, which "
            f"the formula does not know of. Its fullest pass fed {fullest} tokens; the chart has the cost of each."
        )
    else:
        sentences[-1] += "."
    if any(round_.drafted for round_ in longest.rounds):
        sentences.append(f"{percent(longest.share_accepted)} of what was drafted was kept.")
    return " ".join([*sentences, _cost(runs)])


def _best(best: Speculated) -> str:
    times = f"k = {best.request.num_drafted}: {significant(best.gain)} times as fast as plain decoding"
    if way(1, best.gain) == "more":
        return f"The best of these is {times}."
    return f"None of these gains anything; the best is {times}."


def _cost(runs: Sequence[Speculated]) -> str:
    """Whether a pass over many tokens costs more here than one over a single token."""
    times = pass_times(runs)
    most = max(times)
    one_s, many_s = statistics.median(times[1]), statistics.median(times[most])
    sentence = f"a pass over {most} tokens takes {significant(many_s / one_s)} times as long as a pass over one"
    if most > 1 and way(one_s, many_s) == "more":
        return f"Here {sentence}. On a machine that only waits for its weights, it would take as long for every k."
    return f"Here {sentence}: this machine waits for its weights, whatever k is."
