"""Figures of the KV cache lab: what is drawn is what was measured or computed, and is marked as such."""

import math

import pytest

from inference.catalogue import models
from inference.kv_cache.agreement import Agreement
from inference.kv_cache.formulas import cache_bytes, formulas
from inference.kv_cache.recompute import WITH, WITHOUT
from inference.machine.sweeps import Setting, SweepPoint
from pages.charts import palette
from pages.charts.kv_cache.agreement import agreement
from pages.charts.kv_cache.kv_formulas import Bar, kv_formulas
from pages.charts.kv_cache.recompute import time_chart, token_forwards_chart
from pages.charts.run.cache_map import norms_map

LLAMA_8B = models()["llama-3.1-8b"]


def _bars() -> list[Bar]:
    of = [
        Bar(one.name, cache_bytes(LLAMA_8B, one, context_len=1000), False, one.times_right)
        for one in formulas(LLAMA_8B)
    ]
    return [Bar("tensors", 131_072_000, is_measured=True), *of]


def test_formulas_are_dashed_outlines_and_the_measured_bar_is_solid() -> None:
    chart = kv_formulas(_bars())
    (drawn,) = chart.data
    assert list(drawn.x) == [131_072_000, 131_072_000, 4 * 131_072_000, 4 * 131_072_000]
    assert list(drawn.marker.color) == [palette.INK] + [palette.CLEAR] * 3
    assert [(shape.x1, shape.line.color) for shape in chart.layout.shapes] == [
        (size, palette.ESTIMATE) for size in drawn.x[1:]
    ]
    assert all(shape.line.dash for shape in chart.layout.shapes)
    assert [note.text for note in chart.layout.annotations][2:] == ["524 MB<br>4.00 times"] * 2


def test_a_chart_without_numbers_is_empty_and_has_no_axis_numbers() -> None:
    for chart in (kv_formulas([]), time_chart([], [16]), norms_map([], 0, of="value"), agreement([], 32)):
        assert not chart.data
        assert chart.layout.xaxis.showticklabels is False


def _pair(length: int, with_s: tuple[float, ...], without_s: tuple[float, ...]) -> tuple[SweepPoint, SweepPoint]:
    once = Setting(WITH, "decode", num_query_tokens=1, context_len=length)
    return SweepPoint(once, with_s, ()), SweepPoint(Setting(WITHOUT, "prefill", length, length), without_s, ())


def test_times_are_medians_with_their_quartiles_in_the_colours_of_the_phases() -> None:
    chart = time_chart([_pair(16, (0.01, 0.02, 0.03), (0.02, 0.04, 0.06)), _pair(64, (0.02,), (0.2,))], [16, 64])
    with_cache, without = chart.data
    assert (with_cache.name, without.name) == (WITH, WITHOUT)
    assert (with_cache.line.color, without.line.color) == (palette.DECODE, palette.PREFILL)
    assert list(with_cache.x) == [16, 64]
    assert list(without.y) == pytest.approx([40, 200])
    assert list(without.error_y.array) == pytest.approx([10, 0])
    assert list(without.error_y.arrayminus) == pytest.approx([10, 0])
    assert chart.layout.yaxis.title.text.endswith("measured")


def test_every_time_lies_within_the_axes() -> None:
    pairs = [_pair(16, (0.001, 0.002, 0.003), (0.02, 0.04, 0.9)), _pair(1024, (0.02,), (7.0,))]
    chart = time_chart(pairs, [16, 128, 1024])
    low, high = chart.layout.yaxis.range
    for pair in pairs:
        for point in pair:
            assert low < math.log10(point.lower_s * 1e3) <= math.log10(point.upper_s * 1e3) < high
    left, right = chart.layout.xaxis.range
    assert left < math.log10(16) < math.log10(1024) < right


@pytest.mark.parametrize(("prompt", "new"), [(1000, 500), (1, 1), (7, 3), (100_000, 131_072)])
def test_work_ends_at_the_exact_counts(prompt: int, new: int) -> None:
    once, again = token_forwards_chart(prompt, new).data
    assert (once.x[-1], once.y[-1]) == (new, prompt + new - 1)
    assert again.y[-1] == sum(prompt + place for place in range(new))
    assert len(once.x) <= 60


def test_the_agreement_leaves_equal_logits_off_its_logarithmic_axis_and_rings_the_first_other_token() -> None:
    same = Agreement("float32", (5, 6, 7), (0.0, 1e-5, 2e-5))
    other = Agreement("bfloat16", (5, 6, 8), (0.0, 0.25, 0.5), first_differing=3)
    chart = agreement([same, other], 3)
    lines = {trace.name: trace for trace in chart.data}
    assert list(lines["float32"].x) == [2, 3]
    assert list(lines["bfloat16"].y) == [0.25, 0.5]
    assert (list(lines["first other token"].x), list(lines["first other token"].y)) == ([3], [0.5])
    low, high = chart.layout.yaxis.range
    assert low < math.log10(1e-5) < math.log10(0.5) < high


def test_an_agreement_that_is_exact_everywhere_draws_nothing() -> None:
    chart = agreement([Agreement("bfloat16", (5, 6), (0.0, 0.0))], 2)
    assert not chart.data


def test_a_map_of_values_says_values_and_splits_at_the_prompt() -> None:
    columns = [[1.0, 2.0]] * 3 + [[3.0, 4.0]] * 2
    prefill, decode = norms_map(columns, 3, of="value").data
    assert list(prefill.x) == [0, 1, 2]
    assert list(decode.x) == [3, 4]
    assert [list(row) for row in decode.z] == [[3, 3], [4, 4]]
    assert "value norm" in prefill.hovertemplate
