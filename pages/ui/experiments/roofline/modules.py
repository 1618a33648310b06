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
    guess = {one.phase: estimated(lab.engine.spec, roofs, one) for one in passes} if lab.engine and roofs else {}
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
        told = [reason(one, guess.get(one.phase, {})) for one in passes]
        st.text("\n".join(told) or "Hooks time every module in passes that no run counts as steps.")


def estimated(spec: ModelSpec, ceilings: Ceilings, one: ProbedPass) -> Mapping[str, float]:
    """The share of the time at the roofs by group; norms and the rest are not counted."""
    rows = operators(spec, num_query_tokens=one.num_query_tokens, context_len=one.context_len)
    parts = shares(rows, bandwidth=ceilings.bandwidth, flops=ceilings.flops)
    groups = {row.group for row in rows}
    return {
        group: sum(part for row, part in zip(rows, parts, strict=True) if row.group == group) for group in groups
    }


def reason(one: ProbedPass, guess: Mapping[str, float]) -> str:
    """What takes more than its FLOPs and bytes, and what the probe itself cost."""
    parts = dict(zip(chart.NAMES, chart.shares(one), strict=True))
    size = f"Prefill of {one.num_query_tokens:,} tokens" if one.phase == "prefill" else "A decode step"
    told = [f"{size}: norms and the rest, which the estimate leaves out, take"]
    told.append(f"{percent(parts['norms'] + parts['the rest'])};")
    if guess:
        above = max(guess, key=lambda group: parts[group] - guess[group])
        told.append(f"{above} takes {percent(parts[above])}, at the roofs it would be {percent(guess[above])};")
    if one.probe_s > 0:
        told.append(f"the hooks cost {seconds(one.probe_s)} of {seconds(one.median_s)}.")
    else:
        told.append(f"the hooks' cost is lost in the noise of {seconds(one.median_s)}.")
    return " ".join(told)


def _table(passes: Sequence[ProbedPass], guess: Mapping[Phase, Mapping[str, float]]) -> Table:
    lines = []
    for one in passes:
        counts = [str(group.num_modules) for group in one.groups] + [""]
        times_s = [*(group.median_s for group in one.groups), max(one.rest_s, 0.0)]
        for name, count, time_s, part in zip(chart.NAMES, counts, times_s, chart.shares(one), strict=True):
            expected = guess.get(one.phase, {}).get(name)
            words = "not counted" if expected is None else percent(expected)
            lines.append([one.phase, name, count, seconds(time_s), percent(part), words])
        lines.append([one.phase, "pass without hooks", "", seconds(one.median_s), "", ""])
    return Table(["phase", "modules", "how many", "median, measured", "share, measured", "share, estimated"], lines)
