"""Sweeps: which passes are run, which are counted, and what is refused."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from inference.jobs.drive import drained
from inference.jobs.limits import Limits
from inference.kv_cache.recompute import recompute_job
from inference.machine.sweep_io import COLUMNS, to_csv
from inference.machine.sweep_jobs import batch_job, context_job, decode, prefill, prompt_job
from inference.machine.sweep_run import FEWEST, MOST, check, measure
from inference.machine.sweeps import Case, Setting, Sweep, SweepPoint
from tests.inference.passes import counted

if TYPE_CHECKING:
    from inference.engine import Engine

pytestmark = pytest.mark.measures


def _shapes(engine: Engine, cases: Sequence[Case]) -> tuple[list[int], Sweep]:
    with counted(engine) as passes:
        sweep, _ = drained(measure(engine, cases))
    return passes, sweep


def test_a_prefill_starts_from_an_empty_cache_every_time_and_the_first_is_the_warm_up(tiny: Engine) -> None:
    passes, sweep = _shapes(tiny, [[prefill(20)]])
    (point,) = sweep.points
    assert set(passes) == {20}
    assert len(point.warm_up_s) == 1
    assert len(passes) == len(point.warm_up_s) + len(point.times_s)
    assert FEWEST <= len(point.times_s) <= MOST


def test_a_decode_is_one_token_after_a_cache_filled_once(tiny: Engine) -> None:
    passes, sweep = _shapes(tiny, [[decode(300)]])
    (point,) = sweep.points
    assert passes[:2] == [256, 43], "299 tokens fill the cache, in passes of at most 256"
    assert passes[2:] == [1] * (len(point.times_s) + 1)


def test_every_pass_of_a_decode_ends_at_the_same_context_length(tiny: Engine) -> None:
    lengths = []
    forward = tiny.model.register_forward_hook(
        lambda module, args, kwargs, output: lengths.append(output.cache.get_seq_length()), with_kwargs=True
    )
    try:
        drained(measure(tiny, [[decode(40, 3)]]))
    finally:
        forward.remove()
    assert lengths[0] == 39
    assert set(lengths[1:]) == {40}


def test_the_arms_of_a_case_take_turns(tiny: Engine) -> None:
    with_cache = Setting("with", "decode", num_query_tokens=1, context_len=30)
    without = Setting("without", "prefill", num_query_tokens=30, context_len=30)
    passes, sweep = _shapes(tiny, [[with_cache, without]])
    assert passes[0] == 29, "the cache of the first arm"
    assert passes[1:7] == [1, 30, 1, 30, 1, 30]
    assert len(sweep.arm("with")[0].times_s) == len(sweep.arm("without")[0].times_s)


def test_a_batch_is_fed_as_rows_of_one_pass(tiny: Engine) -> None:
    rows = []
    hook = tiny.model.register_forward_hook(
        lambda module, args, kwargs, output: rows.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    try:
        drained(measure(tiny, [[decode(10, 4)]]))
    finally:
        hook.remove()
    assert rows[0] == (1, 9), "the cache is filled once and repeated"
    assert set(rows[1:]) == {(4, 1)}


def test_without_time_the_smallest_setting_is_measured_once_and_the_others_are_said(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.machine.sweep_run.TOTAL_S", 0.0)
    sweep, _ = drained(prompt_job((64, 4, 16)).begin(tiny, Limits()))
    assert [(point.setting.num_query_tokens, len(point.times_s)) for point in sweep.points] == [(4, 1)]
    assert sweep.left_out == (
        "Not measured: prefill of 16 tokens; the 0 s for all of it would not have been enough.",
        "Not measured: prefill of 64 tokens; the 0 s for all of it would not have been enough.",
    )


def test_a_pass_expected_to_hold_others_up_is_left_out_with_both_arms_of_its_case(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.machine.sweep_run.PASS_S", 1e-9)
    with counted(tiny) as passes:
        sweep, _ = drained(recompute_job((8, 32)).begin(tiny, Limits()))
    assert max(passes) == 8
    assert [point.setting.context_len for point in sweep.points] == [8, 8]
    (sentence,) = sweep.left_out
    assert sentence.startswith("Not measured: prefill of 32 tokens; one was expected to take ")


def test_reports_never_go_back_and_show_a_point_before_the_end(tiny: Engine) -> None:
    _, reports = drained(measure(tiny, [[prefill(4)], [prefill(64)], [decode(64)]]))
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] <= 1
    first = next(report for report in reports if report.partial and report.partial.points)
    assert first.fraction < 0.5
    assert reports[0].doing == "prefill of 4 tokens, warm-up"


def test_median_and_quartiles_are_numpys_over_the_counted_repeats_only() -> None:
    point = SweepPoint(prefill(8), (0.4, 0.1, 0.2, 0.9), warm_up_s=(55.0,))
    expected = np.percentile([0.4, 0.1, 0.2, 0.9], [25, 50, 75])
    assert (point.lower_s, point.median_s, point.upper_s) == pytest.approx(expected)


def test_a_single_repeat_is_its_own_quartiles() -> None:
    point = SweepPoint(prefill(8), (0.4,), warm_up_s=())
    assert (point.lower_s, point.median_s, point.upper_s) == (0.4, 0.4, 0.4)


@pytest.mark.parametrize(
    ("num_query_tokens", "context_len", "batch_size"), [(0, 5, 1), (6, 5, 1), (1, 5, 0), (-1, 5, 1)]
)
def test_a_pass_that_cannot_be_is_refused(num_query_tokens: int, context_len: int, batch_size: int) -> None:
    with pytest.raises(ValueError, match="a pass feeds"):
        Setting("x", "decode", num_query_tokens, context_len, batch_size)


def test_lengths_beyond_the_context_are_refused_with_both_numbers(tiny: Engine) -> None:
    with pytest.raises(ValueError, match=r"reaches 600 tokens, the model's context holds 512"):
        prompt_job((16, 600)).begin(tiny, Limits())


def test_a_batch_whose_caches_do_not_fit_is_refused_with_the_size(tiny: Engine) -> None:
    # 2 layers x 2 x 2 KV heads x 8 x 4 bytes = 256 bytes a token: 256 x 400 x 64 = 6.6 MB
    job = batch_job((64,), context_len=400)
    job.begin(tiny, Limits(kv_bytes_per_learner=6_553_600))
    with pytest.raises(ValueError, match=r"batch 64 at 400 tokens would take 7 MB"):
        job.begin(tiny, Limits(kv_bytes_per_learner=6_553_599))


def test_arms_that_hold_their_caches_together_are_added(tiny: Engine) -> None:
    case = [decode(400, 32), Setting("b", "decode", num_query_tokens=1, context_len=400, batch_size=32)]
    check(tiny, Limits(kv_bytes_per_learner=6_553_600), [case])
    with pytest.raises(ValueError, match="would take"):
        check(tiny, Limits(kv_bytes_per_learner=6_553_599), [case])


def test_the_default_sweeps_stop_at_the_models_context(tiny: Engine) -> None:
    for job in (prompt_job(), context_job()):
        sweep, _ = drained(job.begin(tiny, Limits()))
        assert max(point.setting.context_len for point in sweep.points) == 512


def test_jobs_with_other_values_have_other_names() -> None:
    names = {job.name for job in (prompt_job(), prompt_job((1, 2)), context_job(), batch_job(), batch_job((1, 2)))}
    assert len(names | {batch_job(context_len=64).name}) == 6


def test_the_csv_holds_every_pass_and_the_numbers_of_its_point(tiny: Engine) -> None:
    sweep, _ = drained(measure(tiny, [[prefill(16)], [decode(24, 2)]]))
    rows = list(csv.DictReader(io.StringIO(to_csv(sweep))))
    assert tuple(rows[0]) == COLUMNS
    for point in sweep.points:
        lines = [row for row in rows if row["phase"] == point.setting.phase]
        counted_s = [float(row["forward_s"]) for row in lines if row["is_warm_up"] == "False"]
        assert tuple(counted_s) == point.times_s
        assert np.median(counted_s) == pytest.approx(float(lines[0]["median_s"]))
        assert len(lines) == len(point.times_s) + len(point.warm_up_s)
    assert {row["batch_size"] for row in rows if row["phase"] == "decode"} == {"2"}
