"""Measured passes under measured roofs: prefill by length, decode by batch, and where they leave the roof."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.roofline import Ceilings
from inference.arithmetic.units import percent
from inference.catalogue import hardware
from inference.machine.placed import Placed, doubt, place, roofs_job, words
from inference.machine.sweep_jobs import batch_job, prompt_job
from pages.charts.roofline.measured import lab_roofline
from pages.ui import state
from pages.ui.experiments.roofline.text import caption, reason, table, verdict
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import live_chart
from pages.ui.parts.measurement import known, measured, run_job
from pages.ui.parts.prediction import Outcome
from pages.ui.parts.roofs_text import about_roofs

NO_SHEET = "none"


@dataclass(frozen=True, slots=True)
class RooflineSettings:
    sheet: str = NO_SHEET
    """Id of a catalogue machine whose datasheet is drawn over the measured roofs."""
    explained: str = "decode at batch 1"
    """The pass whose time is taken apart in words."""


_DEFAULT = RooflineSettings()


def roofline(settings: RooflineSettings = _DEFAULT, *, key: str = "roofline", is_fixed: bool = False) -> None:
    """The roofline of this machine, the passes measured on it, and one sentence on what keeps one from its roof."""
    controls = Controls(key, is_fixed=is_fixed)
    left, right = st.columns(2)
    with left:
        prompts = run_job(prompt_job(), key=f"{key}-prompts", label="Measure prefill")
    with right:  # one primary button at a time
        has_begun = prompts is not None or known(batch_job()) is not None
        batches = run_job(batch_job(), key=f"{key}-batches", label="Measure decode") if has_begun else None
    placed = place(prompts, batches)
    _meet_the_roofs(placed)
    drawing = framed(f"{key}-chart")
    with row(key):
        sheet = _sheet(controls, settings)
        explained = _explained(controls, settings, placed)
    lab = state.laboratory()
    own = lab.ceilings
    trouble = _trouble(own, placed)
    with st.container(key=f"{key}-reason"):
        placed_pass = next(
            (placed_pass for placed_pass in placed if words(placed_pass.point.setting) == explained), None
        )
        spec = next((sweep.spec for sweep in (prompts, batches) if sweep), None)
        st.text(reason(placed_pass, spec, own) if placed_pass and spec and own and not trouble else _NOTHING)
    other = _other_roofs(own, key) if own and batches else None
    roofs = [roof for roof in (own, other) if roof and not doubt(roof)] if not trouble else []
    with drawing:
        _draw(placed, roofs, sheet, trouble, key)
        for roof in roofs:
            st.caption(f"{roof.dtype}: {about_roofs(roof, lab.ceilings_beaten_by if roof is own else 0.0)}")


_NOTHING = (
    "Measure both: the squares climb to the compute roof as the prompt grows, the circles move right by batch."
)


def _meet_the_roofs(placed: Sequence[Placed]) -> None:
    """A pass that beat this machine's roofs says that they were measured too low."""
    lab = state.laboratory()
    if lab.ceilings is not None and not _trouble(lab.ceilings, placed):
        lab.doubt_ceilings(max((point.share(lab.ceilings) for point in placed), default=0.0))


def _sheet(controls: Controls, settings: RooflineSettings) -> Hardware | None:
    sheets = hardware()

    def name(sheet_id: str) -> str:
        return sheets[sheet_id].name if sheet_id in sheets else "none"

    chosen = controls.select("Datasheet roofs", [NO_SHEET, *sheets], settings.sheet, format_func=name, width=280)
    return sheets.get(chosen)


def _explained(controls: Controls, settings: RooflineSettings, placed: Sequence[Placed]) -> str:
    passes = list(
        dict.fromkeys([settings.explained, *(words(placed_pass.point.setting) for placed_pass in placed)])
    )
    return controls.select("Explain", passes, settings.explained, width=230)


def _other_roofs(own: Ceilings, key: str) -> Ceilings | None:
    """The roofs in the dtype the model does not run in, once they are asked for."""
    dtype = other_dtype(own.dtype)
    return run_job(roofs_job(dtype), key=f"{key}-other", label=f"Measure the {dtype} roofs")


def other_dtype(dtype: str) -> str:
    return "bfloat16" if dtype == "float32" else "float32"


def _trouble(own: Ceilings | None, placed: Sequence[Placed]) -> str:
    """Why no measured roof is drawn; empty if one is."""
    if own is not None:
        return doubt(own, placed)
    lab = state.laboratory()
    if lab.ceilings_fraction is not None:
        return f"This machine's roofs are being measured ({percent(lab.ceilings_fraction)}); none is drawn yet."
    return lab.ceilings_problem or "This machine's roofs have not been measured, so none is drawn."


def _draw(
    placed: Sequence[Placed], roofs: Sequence[Ceilings], sheet: Hardware | None, trouble: str, key: str
) -> None:
    own = roofs[0].dtype if roofs else "float32"
    dtypes = tuple(roof.dtype for roof in roofs) or (own,)
    if sheet and len(dtypes) < 2:
        dtypes += (other_dtype(own),)
    live_chart(
        lambda: lab_roofline(placed, roofs, sheet, dtypes),
        version=(placed, tuple(roofs), sheet.id if sheet else ""),
        key=f"{key}-chart",
        title="Roofline",
        caption=caption(placed, roofs, sheet, dtypes, trouble),
        alt="Measured FLOP/s of prefill and decode passes against FLOP per byte, under the measured roofs.",
        table=lambda: table(placed, roofs[0] if roofs else None),
    )


def outcome() -> Outcome | None:
    """What the two sweeps say on the prediction; None until both points are measured."""
    placed = {
        words(placed_pass.point.setting): placed_pass.rate
        for placed_pass in place(measured(prompt_job()), measured(batch_job()))
    }
    prompt, step = placed.get("prefill of 512 tokens"), placed.get("decode at batch 1")
    return verdict(prompt, step) if prompt and step else None
