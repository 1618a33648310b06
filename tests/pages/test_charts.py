"""Figures of a recorded run: what is drawn, in which colour, and that untrusted text stays text."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from inference.arithmetic import units
from inference.cost import kv_bytes
from inference.trace import Candidate, Trace
from lessons import load_trace
from pages.charts import palette
from pages.charts.run import cache_map, candidates, roofline, run
from pages.charts.tokens import visible

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load_trace("lighthouse")


def test_the_palette_is_the_theme() -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]["light"]
    assert theme["chartCategoricalColors"] == [palette.PREFILL, palette.DECODE, palette.ESTIMATE]
    assert (theme["textColor"], theme["secondaryBackgroundColor"]) == (palette.INK, palette.CARD)
    assert theme["borderColor"] == palette.HAIRLINE


def test_latency_draws_every_measured_pass_once_in_its_phase_colour(trace: Trace) -> None:
    figure = run.latency_per_pass(trace)
    bars = [data for data in figure.data if data.type == "bar"]
    assert [list(bar.y) for bar in bars] == [
        [step.forward_s * 1e3 for step in trace.steps if step.phase == phase] for phase in ("prefill", "decode")
    ]
    assert [bar.marker.color for bar in bars] == [palette.PREFILL, palette.DECODE]


def test_a_long_run_is_drawn_as_a_skyline_and_a_thinned_roofline_that_keep_the_newest_pass(trace: Trace) -> None:
    decode = trace.steps[-1]
    steps = [trace.steps[0]] + [replace(decode, index=n, context_len=31 + n) for n in range(1, 500)]
    long = replace(trace, steps=steps)
    skyline = next(data for data in run.latency_per_pass(long).data if data.name == "decode")
    assert (skyline.type, len(skyline.x), skyline.x[-1]) == ("scatter", 499, 500)
    points = next(data for data in roofline.roofline(long).data if data.name == "decode")
    assert len(points.x) <= roofline._MAX_POINTS
    assert points.customdata[-1] == 499


def test_kv_growth_shows_the_tensors_and_the_formula(trace: Trace) -> None:
    lines = {data.name: data for data in run.kv_growth(trace).data}
    assert list(lines["measured"].y) == [step.kv_bytes / 1e6 for step in trace.steps]
    formula = [kv_bytes(trace.metadata.spec, context_len=step.context_len) / 1e6 for step in trace.steps]
    assert list(lines["formula"].y) == formula
    assert lines["formula"].line.dash == "dash"


def test_no_point_of_the_roofline_lies_above_the_roof_of_an_honest_machine(trace: Trace) -> None:
    assert trace.ceilings is not None
    for step in trace.steps:
        work = run.step_work(trace, step)
        assert work.flops / step.forward_s < trace.ceilings.flops


def test_the_cache_map_has_a_column_per_cached_token_and_boxes_the_newest(trace: Trace) -> None:
    figure = cache_map.cache_map(trace)
    assert sum(len(heatmap.x) for heatmap in figure.data) == trace.steps[-1].context_len
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1) == (trace.steps[-1].context_len - 1.5, trace.steps[-1].context_len - 0.5)


def test_a_long_cache_map_averages_columns_instead_of_growing(trace: Trace) -> None:
    long = replace(trace, key_norms=[trace.key_norms[0]] * 1000)
    assert sum(len(heatmap.x) for heatmap in cache_map.cache_map(long).data) <= 2 * cache_map._MAX_COLUMNS


def test_candidates_keep_the_chosen_token_in_sight_and_mark_what_was_cut(trace: Trace) -> None:
    step = trace.steps[0]
    rare = Candidate(7, b"<b>", 0.001, 0.5, True)
    cut = replace(step.candidates[0], is_kept=False, sampling_probability=0.0)
    changed = replace(step, token_id=7, candidates=(cut, *step.candidates[1:11], rare))
    assert candidates.best_candidates(changed, 8)[-1] is rare
    figure = candidates.candidates(changed)
    assert figure.layout.yaxis.ticktext[-1] == "&lt;b&gt;"
    assert figure.data[0].text[0].endswith(", cut")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b" the", "␣the"),
        (b"\n\t", "↵⇥"),
        (b"\x00\x1b", "␀␛"),
        (b"\xf0\x9f", "⟨F0⟩⟨9F⟩"),
        ("\u202eabc".encode(), "⟨U+202E⟩abc"),
        ("שלום".encode(), "שלום"),
        (b"</s>", "</s>"),
    ],
)
def test_a_token_is_written_with_nothing_invisible_in_it(raw: bytes, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0512, "51.2 ms"), (1.234, "1.23 s"), (4.2e-6, "4.20 µs"), (0.99951, "1,000 ms")],
)
def test_seconds_have_three_digits_and_a_unit(value: float, words: str) -> None:
    assert units.seconds(value) == words


def test_sizes_and_shares_have_units() -> None:
    assert units.scaled(540.3e6, "B") == "540 MB"
    assert units.scaled(272_415_744, "FLOP") == "272 MFLOP"
    assert units.percent(0.4825) == "48.2 %"
    assert units.significant(0.5) == "0.500"
    assert units.significant(0) == "0"
