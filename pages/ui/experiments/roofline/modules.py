"""Where the running model's time goes, module by module, beside what FLOPs and bytes alone would say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.operators import operators, shares
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import percent, seconds
from inference.machine.placed import doubt
from inference.machine.probes import ProbedPass, modules_job
from inference.trace import Phase
from pages.charts.roofline import modules as chart
from pages.ui import state
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.live_chart import Table, chart_card
from pages.ui.parts.measurement import run_job

_LENGTHS = (16, 64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class ModuleSettings:
    num_tokens: int = 512
    """The prompt's length, and the context the decode step ends with."""


_DEFAULT = ModuleSettings()


def module_times(settings: ModuleSettings = _DEFAULT, *, key: str = "modules", is_fixed: bool = False) -> None:
    """Measured shares of attention, MLP, norms and LM head in both phases, with the estimate at the roofs."""
    controls = Controls(key, is_fixed=is_fixed)
    with row(key):
        lengths = sorted({*_LENGTHS, settings.num_tokens})
        num_tokens = controls.select("Tokens", lengths, settings.num_tokens, width=120)
        measured = run_job(modules_job(num_tokens), key=f"{key}-{num_tokens}", label="Measure the modules")
    passes = measured.passes if measured else ()
    lab = state.laboratory()
    roofs = lab.ceilings if lab.ceilings and not doubt(lab.ceilings) else None
    guess = (
        {probed.phase: estimated(lab.engine.spec, roofs, probed) for probed in passes}
        if lab.engine and roofs
        else {}
    )
    chart_card(
        lambda: chart.module_shares(passes, guess),
        version=(passes, roofs),
        key=f"{key}-chart",
        title="Time per kind of module",
        caption="Bars: measured. Grey ticks: the share that FLOPs and bytes alone would give, estimated.",
        alt="Measured share of attention, MLP, norms, LM head and the rest in a prefill and in a decode step.",
        table=lambda: _table(passes, guess),
    )
    with st.container(key=f"{key}-reason"):
        sentences = [reason(probed, guess.get(probed.phase, {})) for probed in passes]
        st.text("\n".join(sentences) or "Hooks time every module in passes that no run counts as steps.")


def estimated(spec: ModelSpec, ceilings: Ceilings, probed: ProbedPass) -> Mapping[str, float]:
    """The share of the time at the roofs by group; norms and the rest are not counted."""
    rows = operators(spec, num_query_tokens=probed.num_query_tokens, context_len=probed.context_len)
    parts = shares(rows, bandwidth=ceilings.bandwidth, flops=ceilings.flops)
    groups = {row.group for row in rows}
    return {
        group: sum(part for row, part in zip(rows, parts, strict=True) if row.group == group) for group in groups
    }


def reason(probed: ProbedPass, guess: Mapping[str, float]) -> str:
    """What takes more than its FLOPs and bytes, and what the probe itself cost."""
    parts = dict(zip(chart.NAMES, chart.shares(probed), strict=True))
    size = f"Prefill of {probed.num_query_tokens:,} tokens" if probed.phase == "prefill" else "A decode step"
    sentences = [f"{size}: norms and the rest, which the estimate leaves out, take"]
    sentences.append(f"{percent(parts['norms'] + parts['the rest'])};")
    if guess:
        above = max(guess, key=lambda group: parts[group] - guess[group])
        sentences.append(
            f"{above} takes {percent(parts[above])}, at the roofs it would be {percent(guess[above])};"
        )
    if probed.probe_s > 0:
        sentences.append(f"the hooks cost {seconds(probed.probe_s)} of {seconds(probed.median_s)}.")
    else:
        sentences.append(f"the hooks' cost is lost in the noise of {seconds(probed.median_s)}.")
    return " ".join(sentences)


def _table(passes: Sequence[ProbedPass], guess: Mapping[Phase, Mapping[str, float]]) -> Table:
    lines = []
    for probed in passes:
        counts = [str(group.num_modules) for group in probed.groups] + [""]
        times_s = [*(group.median_s for group in probed.groups), max(probed.rest_s, 0.0)]
        for name, count, time_s, part in zip(chart.NAMES, counts, times_s, chart.shares(probed), strict=True):
            expected = guess.get(probed.phase, {}).get(name)
            words = "not counted" if expected is None else percent(expected)
            lines.append([probed.phase, name, count, seconds(time_s), percent(part), words])
        lines.append([probed.phase, "pass without hooks", "", seconds(probed.median_s), "", ""])
    return Table(["phase", "modules", "how many", "median, measured", "share, measured", "share, estimated"], lines)
