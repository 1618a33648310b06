"""The roofline lab's figures and words, from invented round numbers."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from inference.arithmetic.operators import Operator, operators
from inference.arithmetic.roofline import Ceilings
from inference.catalogue import hardware, models
from inference.cost import Work
from inference.machine.placed import Placed
from inference.machine.probes import GroupTimes, ProbedPass
from inference.machine.sweeps import Setting, SweepPoint
from inference.trace import Phase
from pages.charts import palette
from pages.charts.roofline import measured as lab_roofline
from pages.charts.roofline import modules
from pages.charts.roofline.operators import intensities
from pages.ui.experiments.roofline import modules as module_words
from pages.ui.experiments.roofline.operators import summary, table
from pages.ui.experiments.roofline.text import PREDICTION, caption, reason, verdict
from pages.ui.experiments.roofline.text import table as roofline_table

ROUND = Ceilings("a machine", "float32", bandwidth=10e9, flops=100e9, overhead_s=0.010, measured_on="", threads=1)
SMOLLM2 = dataclasses.replace(models()["smollm2-135m"], weight_bits=32, kv_bits=32)
V100 = hardware()["v100-sxm2-32gb"]


def placed(phase: Phase, size: int, times_s: Sequence[float]) -> Placed:
    """1 GFLOP and 0.5 GB for each token or sequence."""
    tokens, batch = (size, 1) if phase == "prefill" else (1, size)
    setting = Setting(
        phase, phase, num_query_tokens=tokens, context_len=128 if batch > 1 else tokens, batch_size=batch
    )
    return Placed(SweepPoint(setting, tuple(times_s), ()), Work(1e9 * size, 0.5e9, 0, 0, 0))


POINTS = [
    placed("prefill", 1, (0.1, 0.2, 0.3, 0.4, 0.5)),
    placed("prefill", 64, (1.0, 1.0, 1.0)),
    placed("decode", 2, (0.2, 0.2)),
]


def test_a_point_lies_at_its_flops_per_byte_and_its_flops_over_the_median_with_quartiles_as_bars() -> None:
    (prefill,) = lab_roofline.lab_roofline(POINTS, [ROUND]).select_traces({"name": "prefill"})
    assert list(prefill.x) == [2, 128]
    assert prefill.y == pytest.approx([1 / 0.3, 64])  # GFLOP/s
    assert prefill.y[0] + prefill.error_y.array[0] == pytest.approx(1 / 0.2)
    assert prefill.y[0] - prefill.error_y.arrayminus[0] == pytest.approx(1 / 0.4)
    assert prefill.marker.color == palette.PREFILL
    assert "no single limit: reading 16.7 %, arithmetic 3.3 %" in prefill.hovertext[0]  # 50 and 10 of 300 ms
    assert "compute-bound: reading 5.0 %, arithmetic 64.0 %" in prefill.hovertext[1]  # 50 and 640 ms of 1 s


def test_measured_roofs_are_solid_and_bend_at_the_ridge() -> None:
    (roof,) = lab_roofline.lab_roofline(POINTS, [ROUND]).select_traces({"name": "measured roofs, float32"})
    assert roof.line.dash is None
    assert (roof.x[1], roof.y[1]) == (10, 100)
    assert roof.y[-1] == 100
    assert roof.y[0] == pytest.approx(roof.x[0] * 10)


def test_the_overhead_roof_is_each_passes_flops_over_the_overhead() -> None:
    figure = lab_roofline.lab_roofline(POINTS, [ROUND])
    along_prefill, along_decode = figure.select_traces({"name": "overhead roof"})
    assert list(along_prefill.y) == [100, 6400]
    assert list(along_decode.y) == [200]


def test_without_roofs_the_points_stand_alone() -> None:
    figure = lab_roofline.lab_roofline(POINTS, [])
    assert [trace.name for trace in figure.data] == ["prefill", "decode"]
    assert roofline_table(POINTS, None).rows[0][-1] == "no roof"


def test_a_datasheet_is_dashed_and_a_dtype_without_a_sourced_peak_has_no_roof_and_says_so() -> None:
    dtypes = ("float32", "bfloat16")
    figure = lab_roofline.lab_roofline(POINTS, [ROUND], V100, dtypes)
    dashed = {trace.name: trace for trace in figure.data if trace.line.dash == "dash"}
    assert set(dashed) == {f"{V100.name}, memory", f"{V100.name}, float32"}
    assert all(trace.line.color == palette.ESTIMATE for trace in dashed.values())
    flat = dashed[f"{V100.name}, float32"]
    assert flat.y == pytest.approx([15_700, 15_700])  # GFLOP/s
    assert flat.x[0] == pytest.approx(15_700 / 900)  # its ridge
    told = caption(POINTS, [ROUND], V100, dtypes, "")
    assert "It has no sourced peak in bfloat16, so no compute roof is drawn for it." in told


def test_five_thousand_points_are_thinned_and_the_last_one_stays() -> None:
    many = [placed("prefill", size, (1.0, 1.1)) for size in range(1, 5001)]
    figure = lab_roofline.lab_roofline(many, [ROUND])
    (points,) = figure.select_traces({"name": "prefill"})
    assert isinstance(points.x, np.ndarray)
    assert len(points.x) <= 200
    assert points.x[-1] == pytest.approx(10_000)
    assert len(roofline_table(many, ROUND).rows) == 5000


def test_the_table_has_every_point_with_its_regime_share_and_floors() -> None:
    assert roofline_table(POINTS, ROUND).rows[1] == [
        *("prefill of 64 tokens", "128", "64.0 GFLOP/s", "1.00 s", "1.00 s to 1.00 s"),
        *("compute-bound", "64.0 %", "640 ms", "50.0 ms", "10.0 ms"),
    ]


def test_the_reason_names_the_three_floors_and_the_unexplained_rest() -> None:
    # one decode step of the model: 0.27 GFLOP, 0.54 GB, so 54 ms at 10 GB/s, 2.7 ms of arithmetic, 10 ms overhead
    setting = Setting("decode", "decode", num_query_tokens=1, context_len=1)
    work = Work(0.27e9, 0.54e9, 0, 0, 0)
    ladder = ((1, 80e-12), (2048, 80e-12))  # 134.5 M weights at 80 ps: 10.8 ms
    machine = dataclasses.replace(ROUND, matmul_ladder=ladder, attention_flops=1e15)
    told = reason(Placed(SweepPoint(setting, (0.080,), ()), work), SMOLLM2, machine)
    assert "took 80.0 ms" in told
    assert "arithmetic 2.70 ms, 540 MB to move 54.0 ms, overhead 10.0 ms" in told
    assert "The longest is 67.5 % of the time: it is memory-bound." in told
    assert "Overhead on top: 10.0 ms (12.5 %)" in told
    assert "Left unexplained: 16.0 ms (20.0 %)" in told  # 80 - 54 - 10
    fast = reason(Placed(SweepPoint(setting, (0.060,), ()), work), SMOLLM2, machine)
    assert "Together that is 4.00 ms more than was measured" in fast
    short = reason(Placed(SweepPoint(setting, (0.020,), ()), Work(1e6, 1e6, 0, 0, 0)), SMOLLM2, machine)
    assert "The longest is 50.0 % of the time: it is overhead-bound." in short
    assert "Bytes and arithmetic on top: 100 µs (0.50 %)" in short


@pytest.mark.parametrize(("prompt", "step", "place"), [(201e9, 20e9, 0), (199e9, 20e9, 1), (30, 20, 2), (9, 20, 3)])
def test_the_prediction_is_borne_out_by_the_factor_of_the_two_rates(prompt: float, step: float, place: int) -> None:
    found = verdict(prompt, step)
    assert found.right == PREDICTION.options[place]
    assert "times as much" in found.sentence


def test_operators_are_hollow_marks_in_both_phases_on_either_side_of_a_dashed_ridge() -> None:
    rows: dict[Phase, Sequence[Operator]] = {
        "prefill": operators(SMOLLM2, num_query_tokens=512, context_len=512),
        "decode": operators(SMOLLM2, num_query_tokens=1, context_len=512),
    }
    figure = intensities(rows, 10.0)
    marks = {trace.name: trace for trace in figure.data if trace.mode == "markers"}
    assert {name: trace.marker.symbol for name, trace in marks.items()} == {
        "prefill": "square-open",
        "decode": "circle-open",
    }
    assert max(marks["decode"].x) < 10
    assert sum(marks["prefill"].x < 10) == 1  # the LM head sees one position only
    (ridge,) = figure.select_traces({"name": "ridge"})
    assert (list(ridge.x), ridge.line.dash) == ([10, 10], "dash")
    assert not list(intensities(rows, None).select_traces({"name": "ridge"}))


def test_the_operator_table_ends_in_the_whole_pass_and_says_nothing_of_bounds_without_roofs() -> None:
    rows = operators(SMOLLM2, num_query_tokens=1, context_len=512)
    shown = table(rows, 10e9, 100e9)
    assert len(shown.rows) == len(rows) + 1
    assert shown.rows[-1][0] == "whole pass"
    assert shown.rows[-1][-2:] == ["memory", "100 %"]
    assert summary(rows, 10e9, 100e9).startswith("9 of 9 operators are memory-bound; LM head takes")
    assert "bound by" not in table(rows, None, None).columns
    assert summary(rows, None, None) == ""


def probed(hooked_s: float, plain_s: float) -> ProbedPass:
    groups = (
        GroupTimes("attention", 2, (0.040,)),
        GroupTimes("MLP", 2, (0.030,)),
        GroupTimes("norms", 5, (0.005,)),
        GroupTimes("LM head", 1, (0.015,)),
    )
    return ProbedPass("decode", 1, 512, groups, (hooked_s,), (plain_s,))


def test_module_bars_are_shares_of_the_hooked_pass_beside_ticks_for_what_is_counted() -> None:
    one = probed(0.100, 0.098)
    figure = modules.module_shares([one], {"decode": {"attention": 0.25, "MLP": 0.5, "LM head": 0.25}})
    (bars,) = figure.select_traces({"name": "decode"})
    assert list(bars.x) == pytest.approx([40, 30, 5, 15, 10])
    assert bars.marker.color == palette.DECODE
    (ticks,) = figure.select_traces({"name": "decode, estimated"})
    assert (list(ticks.x), list(ticks.y)) == ([25, 50, 25], [0, 1, 3])
    assert ticks.marker.color == palette.ESTIMATE
    assert math.isclose(one.rest_s, 0.010)


def test_the_words_on_modules_give_the_rest_the_widest_gap_and_the_cost_of_the_hooks() -> None:
    told = module_words.reason(probed(0.100, 0.098), {"attention": 0.25, "MLP": 0.5, "LM head": 0.25})
    assert "norms and the rest, which the estimate leaves out, take 15.0 %" in told
    assert "attention takes 40.0 %, at the roofs it would be 25.0 %" in told
    assert "the hooks cost 2.00 ms of 98.0 ms" in told
    assert "lost in the noise of 101 ms" in module_words.reason(probed(0.100, 0.101), {})
