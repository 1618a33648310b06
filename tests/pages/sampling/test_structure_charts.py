"""The figures and words of the structure experiment, from records written by hand."""

from dataclasses import replace

import pytest

from inference.run.params import SamplingParams
from inference.run.recipe import Recipe
from inference.structure.records import Constraint, StructuredRequest, StructuredRun, StructuredStep, TokenOption
from pages.charts.palette import DECODE, INK, PREFILL
from pages.charts.sampling.structured import feasible_mass, share, step_costs
from pages.ui.experiments.sampling.structure_text import (
    cost,
    influence,
    step_table,
    step_words,
    telling_step,
    verdict,
)


def _step(index: int, mass: float, num_allowed: int, *, is_overridden: bool = False) -> StructuredStep:
    best = TokenOption(1, b"<b>", 0.6, 0.0 if is_overridden else 0.9, is_allowed=not is_overridden)
    other = TokenOption(2, b"7", 0.1, 1.0 if is_overridden else 0.1, is_allowed=True)
    chosen = other if is_overridden else best
    return StructuredStep(
        index=index,
        phase="decode" if index else "prefill",
        token_id=chosen.token_id,
        raw=chosen.raw,
        unmasked_id=1,
        feasible_mass=mass,
        num_allowed=num_allowed,
        raw_top=(best, other),
        masked_top=(other,) if is_overridden else (best, other),
        mask_s=1e-3,
        forward_s=0.050,
    )


RUN = StructuredRun(
    text="x",
    steps=(
        _step(0, 1e-9, 1, is_overridden=True),
        _step(1, 0.75, 40),
        _step(2, 0.25, 9, is_overridden=True),
        _step(3, 0.5, 3, is_overridden=True),
    ),
    is_complete=True,
    is_valid=True,
    ending="constraint met",
    compile_s=2e-3,
    request=StructuredRequest(Constraint("JSON schema", "{}"), Recipe("x", SamplingParams(), 8)),
)


def test_a_bar_is_the_feasible_mass_and_a_mark_the_forbidden_first_choice() -> None:
    bars, marks = feasible_mass(RUN, chosen=2).data
    assert list(bars.y) == pytest.approx([1e-7, 75, 25, 50])
    assert list(bars.marker.color) == [PREFILL, DECODE, DECODE, DECODE]
    assert [width > 0 for width in bars.marker.line.width] == [False, False, True, False]
    assert list(marks.x) == [1, 3, 4]
    assert marks.marker.color == INK


def test_a_token_is_never_markup_in_a_hover() -> None:
    hovers = feasible_mass(RUN, chosen=0).data[0].hovertext
    assert all("<b>" not in hover.replace("<br>", "") for hover in hovers)
    assert "&lt;b&gt;" in hovers[1]


def test_mask_and_pass_stand_on_one_axis_in_milliseconds() -> None:
    chart = step_costs(RUN)
    passes, masks = chart.data
    assert list(passes.y) == pytest.approx([50] * 4)
    assert list(masks.y) == pytest.approx([1] * 4)
    assert chart.layout.yaxis.type == "log"
    assert {note.text for note in chart.layout.annotations} == {"forward pass", "mask"}


def test_charts_without_a_run_have_axes_and_no_numbers() -> None:
    for chart in (feasible_mass(None, 0), step_costs(None)):
        assert not chart.data
        assert not chart.layout.xaxis.showticklabels


def test_a_run_without_a_mask_shows_no_cost_of_one() -> None:
    steps = tuple(replace(step, mask_s=0.0) for step in RUN.steps)
    free = replace(RUN, steps=steps, is_valid=False, request=replace(RUN.request, is_masked=False))
    assert len(step_costs(free).data) == 1
    assert "no mask" in cost(free)
    assert verdict(free) == "Written without the mask: not valid, says jsonschema."
    assert influence(free) == "All tokens were allowed at every step."


def test_the_words_count_what_the_steps_hold() -> None:
    assert influence(RUN) == "The mask forbade the first choice at 3 of 4 tokens; at 1 it left a single one."
    assert cost(RUN).startswith("Medians: 1.00 ms for the mask, 50.0 ms for a pass, 2.0 %.")
    assert step_words(RUN.steps[2]).endswith("Its first choice “<b>” was forbidden; “7” was chosen.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Complete, and valid, says jsonschema"),
        ({"is_valid": None}, "Complete, and jsonschema could not say in time"),
        ({"is_complete": False, "is_valid": False, "ending": "maximum"}, "Cut off at the maximum of 8 tokens"),
        ({"is_complete": False, "is_valid": False, "ending": "context full"}, "where the context was full"),
        ({"ending": None}, "Being written."),
    ],
)
def test_the_verdict_never_calls_a_doubtful_text_valid(changes: dict[str, object], words: str) -> None:
    told = verdict(replace(RUN, **changes))  # type: ignore[arg-type]
    assert words in told
    assert ("valid, says" in told and "not valid" not in told) == (changes == {})


def test_the_step_to_look_at_is_the_disputed_one_with_a_choice() -> None:
    assert telling_step(RUN) == 2, "not step 0, where one token was left, nor step 3, with more mass"
    assert telling_step(replace(RUN, steps=RUN.steps[:2])) == 0
    assert telling_step(replace(RUN, ending=None)) == 3


def test_the_table_sets_both_ranks_side_by_side_and_pads_the_shorter() -> None:
    table, marked = step_table(RUN.steps[2])
    assert table.rows == [
        ["“<b>”", "60.0 %", "forbidden", "“7”", "100 %"],
        ["“7”", "10.0 %", "", "", ""],
    ]
    assert set(marked) == {(1, 0), (0, 3)}


def test_a_share_too_small_to_matter_is_said_to_be_so() -> None:
    assert [share(0.0), share(1e-12), share(0.5)] == ["0 %", "under 0.001 %", "50.0 %"]
